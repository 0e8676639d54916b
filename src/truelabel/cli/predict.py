"""``truelabel predict``: the true class of new examples, or of each pixel of new pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truelabel.cli.runs import refuse

MASKS = "Masks"


def predict(
    run: Annotated[Path, typer.Argument(help="Run folder that `truelabel train` wrote.")],
    data: Annotated[
        Path, typer.Argument(help="Folder of images, table of features, or .npy/.npz; or, to segment, one image.")
    ],
    out: Annotated[Path, typer.Option(help="Table to write, .csv or .parquet; for masks a folder.")],
    id_column: Annotated[
        str | None, typer.Option("--id", help="Feature table: column that names the examples; as in training.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="A .npz file: name of the array; as in training.")] = None,
    text: Annotated[str | None, typer.Option(help="Table: the column with the texts; as in training.")] = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also write those of each class: .npy (K, …), or a NIfTI volume a class.",
            rich_help_panel=MASKS,
        ),
    ] = False,
    readers: Annotated[
        bool,
        typer.Option("--readers", help="Also write the mask that each reader would draw.", rich_help_panel=MASKS),
    ] = False,
    errors: Annotated[
        bool,
        typer.Option(
            "--errors",
            help="Also write where each reader would draw too much (over) and too little (under): probabilities, in "
            "PNG from black to white.",
            rich_help_panel=MASKS,
        ),
    ] = False,
    uncertainty: Annotated[
        bool,
        typer.Option(
            "--uncertainty",
            help="Also write how unsure the answer is, from 0 to 1: the variance of each class, over 1/4, and the "
            "entropy, over the most that it can be.",
            rich_help_panel=MASKS,
        ),
    ] = False,
    device: Annotated[
        str | None, typer.Option(help="auto (by default), cpu, cuda or mps.", rich_help_panel=MASKS)
    ] = None,
) -> None:
    """Write the most probable true class of each example, and the probability of every class.

    A run that learned from masks writes a mask for each image, where the image lies: same size, same affine.
    """
    from dataclasses import replace

    from truelabel.cli import sources
    from truelabel.cli.tables import check_output, write_columns
    from truelabel.coding import name_array
    from truelabel.estimators import TrueLabelClassifier
    from truelabel.estimators.storage import stored_kind

    sources.require_existing(run, data)
    wanted = {"probabilities": probabilities, "readers": readers, "errors": errors, "uncertainty": uncertainty}
    if stored_kind(run) == "TrueLabelSegmenter":
        from truelabel.cli.predict_masks import predict_masks

        refuse(
            {"--id": id_column, "--key": key, "--text": text},
            f"for tables and arrays, but {run} segments: leave it out",
        )
        predict_masks(run, data, out, device or "auto", {name for name, value in wanted.items() if value})
        return
    for_masks = {"--device": device, **{f"--{name}": value or None for name, value in wanted.items()}}
    refuse(for_masks, f"for masks, but {run} gives one class an example: leave it out")
    check_output(out)
    classifier = TrueLabelClassifier.load(run)
    reading = sources.Reading.load(run)
    if reading.text is None:
        refuse({"--text": text}, f"for runs that learned from texts, but {run} did not: leave it out")
    reading = replace(reading, id_column=id_column or reading.id_column, key=key or reading.key)
    inputs = replace(reading, text=text or reading.text).inputs(data)
    probs = classifier.predict_proba(inputs.values)
    best = probs.argmax(-1)
    table = {"example": name_array(inputs.names), "label": classifier.classes_[best], "probability": probs.max(-1)}
    table |= {f"probability_{name}": probs[:, k] for k, name in enumerate(classifier.classes_)}
    write_columns(table, out)
    typer.echo(f"Wrote {len(probs)} predictions to {out}")

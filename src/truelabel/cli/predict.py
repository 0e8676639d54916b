"""``truelabel predict``: the true class of new examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def predict(
    run: Annotated[Path, typer.Argument(help="Run folder that `truelabel train` wrote.")],
    data: Annotated[Path, typer.Argument(help="Folder of images, table of features, or .npy/.npz.")],
    out: Annotated[Path, typer.Option(help="Table to write: .csv or .parquet.")],
    id_column: Annotated[
        str | None, typer.Option("--id", help="Feature table: column that names the examples; as in training.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="A .npz file: name of the array; as in training.")] = None,
) -> None:
    """Write the most probable true class of each example, and the probability of every class."""
    from dataclasses import replace

    from truelabel.cli import sources
    from truelabel.cli.tables import check_output, write_columns
    from truelabel.coding import name_array
    from truelabel.estimators import TrueLabelClassifier

    check_output(out)
    classifier = TrueLabelClassifier.load(run)
    reading = sources.Reading.load(run)
    inputs = replace(reading, id_column=id_column or reading.id_column, key=key or reading.key).inputs(data)
    probs = classifier.predict_proba(inputs.values)
    best = probs.argmax(-1)
    table = {"example": name_array(inputs.names), "label": classifier.classes_[best], "probability": probs.max(-1)}
    table |= {f"probability_{name}": probs[:, k] for k, name in enumerate(classifier.classes_)}
    write_columns(table, out)
    typer.echo(f"Wrote {len(probs)} predictions to {out}")

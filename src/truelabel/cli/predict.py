"""``truelabel predict``: the true class of new examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def predict(
    run: Annotated[Path, typer.Argument(help="Run folder that `truelabel train` wrote.")],
    data: Annotated[Path, typer.Argument(help="Folder of images, table of features, or .npy/.npz.")],
    out: Annotated[Path, typer.Option(help="Table to write: .csv or .parquet.")],
    id_column: Annotated[str | None, typer.Option("--id", help="Feature table: column that names the examples.")] = None,
    features: Annotated[str | None, typer.Option(help="Feature table: columns to use, separated by commas.")] = None,
    drop: Annotated[str | None, typer.Option(help="Feature table: columns to leave out.")] = None,
    size: Annotated[str | None, typer.Option(help="Images: bring to this size, like 64 or 48x64.")] = None,
    grey: Annotated[bool, typer.Option("--grey", help="Images: one channel.")] = False,
) -> None:
    """Write the most probable true class of each example, and the probability of every class."""
    from truelabel.cli import sources
    from truelabel.cli.tables import check_output, write_columns
    from truelabel.coding import name_array
    from truelabel.estimators import TrueLabelClassifier

    check_output(out)
    classifier = TrueLabelClassifier.load(run)
    inputs = sources.read_inputs(
        data,
        id_column=id_column,
        columns=sources.parse_list(features),
        drop=sources.parse_list(drop),
        size=sources.parse_size(size),
        grey=grey,
    )
    probs = classifier.predict_proba(inputs.values)
    best = probs.argmax(-1)
    table = {"example": name_array(inputs.names), "label": classifier.classes_[best], "probability": probs.max(-1)}
    table |= {f"probability_{name}": probs[:, k] for k, name in enumerate(classifier.classes_)}
    write_columns(table, out)
    typer.echo(f"Wrote {len(probs)} predictions to {out}")

"""``truelabel train``: learn from the user's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truelabel.cli.runs import parse_options, show_run, train_run


def train(
    data: Annotated[Path, typer.Argument(help="Folder of images, table of features (CSV, Parquet), or .npy/.npz.")],
    labels: Annotated[Path, typer.Argument(help="CSV or Parquet with one row a label, or a .npy matrix.")],
    out: Annotated[Path, typer.Option(help="Run folder; a run that was stopped goes on from there.")],
    method: Annotated[str, typer.Option(help="See `truelabel methods`.")] = "cross-entropy",
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the method, as name=value; may be repeated.")
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(help="Choose options on noisy validation labels: 'paper', or name=a,b,c; may be repeated."),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Let Optuna try so many combinations instead of the grid.")] = None,
    network: Annotated[str, typer.Option(help="auto, mlp[:WIDTH], lenet-5, resnet-18, wrn-28-2, …")] = "auto",
    example: Annotated[str | None, typer.Option(help="Label table: column of examples; guessed by default.")] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Label table: column of annotators; guessed by default.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Label table: column of labels; guessed by default.")] = None,
    classes: Annotated[str | None, typer.Option(help="All classes in order, separated by commas.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Feature table: column that names the examples.")
    ] = None,
    features: Annotated[str | None, typer.Option(help="Feature table: columns to use, separated by commas.")] = None,
    drop: Annotated[str | None, typer.Option(help="Feature table: columns to leave out.")] = None,
    size: Annotated[str | None, typer.Option(help="Images: bring to this size, like 64 or 48x64.")] = None,
    grey: Annotated[bool, typer.Option("--grey", help="Images: one channel.")] = False,
    key: Annotated[str | None, typer.Option(help="Inputs in a .npz file: name of the array.")] = None,
    drop_unlabelled: Annotated[
        bool, typer.Option("--drop-unlabelled", help="Leave out examples and annotators without labels.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="Passes over the examples.")] = 50,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 128,
    optimizer: Annotated[str, typer.Option(help="adam, adamw or sgd (Nesterov).")] = "adam",
    learning_rate: Annotated[float, typer.Option(help="Of the network.")] = 1e-3,
    noise_learning_rate: Annotated[
        float | None, typer.Option(help="Of the noise model, such as confusion matrices; by default as they need.")
    ] = None,
    weight_decay: Annotated[float, typer.Option(help="Of the network.")] = 0.0,
    schedule: Annotated[str, typer.Option(help="constant, cosine or step.")] = "constant",
    step_epochs: Annotated[str | None, typer.Option(help="Epochs at which `step` divides by ten, like 40,80.")] = None,
    validation: Annotated[float, typer.Option(help="Share of examples held out, with their noisy labels.")] = 0.1,
    patience: Annotated[int | None, typer.Option(help="Stop after so many epochs without improvement.")] = None,
    select: Annotated[str, typer.Option(help="Keep the best or the last epoch.")] = "best",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    processes: Annotated[int, typer.Option(help="Data-parallel processes, one device each.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true or bf16-mixed.")] = "32-true",
    augment: Annotated[
        list[str] | None, typer.Option(help="Images: crop (shift a little) or flip (mirror); may be repeated.")
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also log for TensorBoard.")] = False,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
) -> None:
    """Learn a classifier from data and the labels that people gave; keep it in a run folder."""
    import numpy as np

    from truelabel.cli.sources import LabelColumns, Reading, read_pair
    from truelabel.estimators import TrueLabelClassifier
    from truelabel.methods import get_method

    recipe = get_method(method).with_options(**parse_options(option or []))
    reading = Reading.parse(features, drop, id_column, size, grey, key)
    columns = LabelColumns.parse(example, annotator, label, classes)
    inputs, annotations = read_pair(data, labels, reading, columns)
    if drop_unlabelled:
        inputs, annotations = inputs.take(np.flatnonzero(annotations.counts)), annotations.labelled()
    classifier = TrueLabelClassifier(
        recipe,
        network,
        epochs=epochs,
        batch_size=batch_size,
        optimizer=optimizer,  # type: ignore[arg-type]  # checked by TrainingConfig
        learning_rate=learning_rate,
        noise_learning_rate=noise_learning_rate,
        weight_decay=weight_decay,
        schedule=schedule,  # type: ignore[arg-type]
        step_epochs=_whole_numbers(step_epochs),
        search=_grid(search or []),
        trials=trials,
        validation=validation,
        patience=patience,
        select=select,  # type: ignore[arg-type]
        device=device,  # type: ignore[arg-type]
        processes=processes,
        precision=precision,  # type: ignore[arg-type]
        augment=tuple(augment or ()),  # type: ignore[arg-type]
        folder=out,
        verbose=True,
        tensorboard=tensorboard,
        random_state=seed,
    )
    train_run(classifier, inputs, annotations, out)
    show_run(classifier, annotations, out)


def _grid(texts: list[str]) -> Any:
    """The grid to search: None, the paper's, or the user's."""
    if not texts or texts == ["paper"]:
        return "paper" if texts else None
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise ValueError(f"--search must be 'paper' or name=a,b,c, got {text!r}")
        grid[name.replace("-", "_")] = [parse_options([f"_={value}"])["_"] for value in values.split(",")]
    return grid


def _whole_numbers(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise ValueError(f"--step-epochs must be like 40,80, got {text!r}") from None

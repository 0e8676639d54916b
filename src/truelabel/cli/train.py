"""``truelabel train``: learn from the user's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truelabel.cli.label_columns import ANNOTATORS_HELP, WIDE_HELP
from truelabel.cli.mask_reading import CLASSES_HELP, LAYOUT_HELP, PATTERN_HELP, READERS_HELP, VOID_HELP
from truelabel.cli.report import write_page
from truelabel.cli.runs import parse_options, refuse, show_run, train_run
from truelabel.cli.sources import EMBED_HELP, FILL_HELP, TEXT_HELP

MASKS = "Masks (LABELS left out)"


def train(
    data: Annotated[
        Path,
        typer.Argument(
            help="Folder of images, table of features or texts (CSV, Parquet), or .npy/.npz; or folder of images and "
            "masks."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Run folder; a run that was stopped goes on from there.")],
    labels: Annotated[
        Path | None,
        typer.Argument(
            help="CSV or Parquet with one row a label, or a .npy matrix. Left out where DATA holds the masks of "
            "several readers: images/a.png and ann/a.png; or a/image.png and a/ann.png; or a.png and a_ann.png.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="See `truelabel methods`; by default cross-entropy, or pixelwise-confusion for masks."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the method, as name=value; may be repeated.")
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(help="Choose options on noisy validation labels: 'paper', or name=a,b,c; may be repeated."),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Let Optuna try so many combinations instead of the grid.")] = None,
    network: Annotated[
        str, typer.Option(help="auto, mlp[:WIDTH], lenet-5, resnet-18, wrn-28-2, unet[:WIDTH], …")
    ] = "auto",
    example: Annotated[str | None, typer.Option(help="Label table: column of examples; guessed by default.")] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Label table: column of annotators; guessed by default.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Label table: column of labels; guessed by default.")] = None,
    classes: Annotated[str | None, typer.Option(help=CLASSES_HELP)] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Feature table: column that names the examples.")
    ] = None,
    features: Annotated[str | None, typer.Option(help="Feature table: columns to use, separated by commas.")] = None,
    drop: Annotated[str | None, typer.Option(help="Feature table: columns to leave out.")] = None,
    fill: Annotated[str | None, typer.Option(help=FILL_HELP)] = None,
    text: Annotated[str | None, typer.Option(help=TEXT_HELP)] = None,
    embed: Annotated[str | None, typer.Option(help=EMBED_HELP)] = None,
    wide: Annotated[bool, typer.Option("--wide", help=WIDE_HELP)] = False,
    annotators: Annotated[str | None, typer.Option(help=ANNOTATORS_HELP)] = None,
    size: Annotated[
        str | None, typer.Option(help="Images: bring to this size, like 64 or 48x64; volumes 32x64x64.")
    ] = None,
    grey: Annotated[bool, typer.Option("--grey", help="Images: one channel.")] = False,
    key: Annotated[str | None, typer.Option(help="Inputs in a .npz file: name of the array.")] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(help="Reviewed labels, as the report exports them: example,annotator,label,decision,new_label."),
    ] = None,
    review: Annotated[
        str | None,
        typer.Option(
            help="With --decisions: replace wrong labels (by default), or add the reviewer's beside them, so that "
            "matrices of annotators still learn from their mistakes."
        ),
    ] = None,
    drop_unlabelled: Annotated[
        bool, typer.Option("--drop-unlabelled", help="Leave out examples and annotators without labels.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="Passes over the examples.")] = 50,
    batch_size: Annotated[int | None, typer.Option(help="Examples a step; by default 128, or 8 for masks.")] = None,
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
    select: Annotated[str, typer.Option(help="Epoch to keep: best, best-accuracy, best-loss or last.")] = "best",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    processes: Annotated[int, typer.Option(help="Data-parallel processes, one device each.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true or bf16-mixed.")] = "32-true",
    augment: Annotated[
        list[str] | None,
        typer.Option(help="Images: crop (shift by 4 pixels, crop:2 by 2) or flip (mirror); may be repeated."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            help="Judge labels by so many trainings that have not seen them; 0 for none. By default 5, or 0 for masks."
        ),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also log for TensorBoard.")] = False,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    report: Annotated[bool, typer.Option("--report", help="End with the page of `truelabel report`.")] = False,
    layout: Annotated[str | None, typer.Option(help=LAYOUT_HELP, rich_help_panel=MASKS)] = None,
    images: Annotated[
        str | None,
        typer.Option(
            help="How pictures are called, image by default; several are channels, like flair,t1.",
            rich_help_panel=MASKS,
        ),
    ] = None,
    readers: Annotated[str | None, typer.Option(help=READERS_HELP, rich_help_panel=MASKS)] = None,
    pattern: Annotated[str | None, typer.Option(help=PATTERN_HELP, rich_help_panel=MASKS)] = None,
    void: Annotated[str | None, typer.Option(help=VOID_HELP, rich_help_panel=MASKS)] = None,
    normalise: Annotated[
        str | None,
        typer.Option(
            help="Mean 0 and variance 1 of each image, over all pixels or the nonzero; all by default, but for "
            "pictures of 8 bits.",
            rich_help_panel=MASKS,
        ),
    ] = None,
    spacing: Annotated[
        str | None, typer.Option(help="Resample volumes to this, like 1,1,3.", rich_help_panel=MASKS)
    ] = None,
    crop: Annotated[
        str | None,
        typer.Option(help="Instead of --size: cut or pad images round their centre.", rich_help_panel=MASKS),
    ] = None,
    patch: Annotated[
        str | None,
        typer.Option(
            help="Learn from random patches, answer by windows, like 128x128 or 32x64x64.", rich_help_panel=MASKS
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(help="Share of a window that the next covers again; 0.5 by default.", rich_help_panel=MASKS),
    ] = None,
) -> None:
    """Learn a classifier from data and the labels that people gave; keep it in a run folder.

    From a folder of images and the masks of several readers, learn to segment.
    """
    import numpy as np

    from truelabel.cli.decided import apply_decisions
    from truelabel.cli.run_quality import Source
    from truelabel.cli.sources import (
        LabelColumns,
        Reading,
        read_pair,
        require_apart,
        require_existing,
        require_run_folder,
    )
    from truelabel.estimators import TrueLabelClassifier
    from truelabel.methods import get_method
    from truelabel.quality import check_folds

    require_existing(data, labels, decisions)
    check_folds(folds or 0)
    settings: dict[str, Any] = {
        "epochs": epochs,
        "optimizer": optimizer,
        "learning_rate": learning_rate,
        "noise_learning_rate": noise_learning_rate,
        "weight_decay": weight_decay,
        "schedule": schedule,
        "step_epochs": _whole_numbers(step_epochs),
        "search": _grid(search or []),
        "trials": trials,
        "validation": validation,
        "patience": patience,
        "select": select,
        "device": device,
        "processes": processes,
        "precision": precision,
        "augment": tuple(augment or ()),
        "verbose": True,
        "tensorboard": tensorboard,
        "random_state": seed,
    }
    settings |= {} if batch_size is None else {"batch_size": batch_size}
    options = parse_options(option or [])
    for_labels: dict[str, Any] = {"--example": example, "--annotator": annotator, "--label": label}
    for_labels |= {"--id": id_column, "--features": features, "--drop": drop, "--key": key}
    for_labels |= {"--text": text, "--embed": embed, "--fill": fill, "--wide": wide or None, "--annotators": annotators}
    for_labels |= {"--decisions": decisions, "--review": review}
    for_masks: dict[str, Any] = {"--layout": layout, "--images": images, "--readers": readers, "--pattern": pattern}
    for_masks |= {"--void": void, "--normalise": normalise, "--spacing": spacing, "--crop": crop}
    for_masks |= {"--patch": patch, "--overlap": overlap}
    if labels is None:
        from truelabel.cli.mask_reading import MaskReading
        from truelabel.cli.train_masks import Wanted, train_masks

        if not data.is_dir():
            raise ValueError(f"LABELS is missing: name the table or matrix of labels after {data}")
        refuse(for_labels, "for labels in a table: name it after DATA, or leave the option out")
        require_apart(out, data)
        require_run_folder(out)
        masks = MaskReading.parse(layout, images, readers, pattern, classes, void)
        wanted = Wanted(masks, grey, drop_unlabelled, normalise, spacing, size, crop, patch)
        recipe = get_method(method or "pixelwise-confusion").with_options(**options)
        settings |= {} if overlap is None else {"overlap": overlap}
        train_masks(data, wanted, recipe, "unet" if network == "auto" else network, settings, out, folds or 0)
        if report:
            write_page(out)
        return
    refuse(for_masks, "for masks, which lie in DATA: leave LABELS out, or the option")
    require_run_folder(out)
    recipe = get_method(method or "cross-entropy").with_options(**options)
    reading = Reading.parse(features, drop, id_column, size, grey, key, text, embed, fill)
    columns = LabelColumns.parse(example, annotator, label, classes, wide, annotators)
    # The components of texts have one scale: to standardise each would blow up those that are noise.
    settings |= {} if text is None else {"standardize": False}
    inputs, annotations = read_pair(data, labels, reading, columns)
    inputs, annotations = apply_decisions(inputs, annotations, decisions, review)
    if drop_unlabelled:
        inputs, annotations = inputs.take(np.flatnonzero(annotations.counts)), annotations.labelled()
    classifier = TrueLabelClassifier(recipe, network, folder=out, **settings)
    train_run(
        classifier, inputs, annotations, out, Source.of(data, labels, text, decisions), 5 if folds is None else folds
    )
    show_run(classifier, annotations, out)
    if report:
        write_page(out)


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

"""``truelabel fuse``: one answer from many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli.label_columns import ANNOTATORS_HELP, WIDE_HELP
from truelabel.cli.mask_reading import CLASSES_HELP, LAYOUT_HELP, PATTERN_HELP, READERS_HELP, VOID_HELP
from truelabel.cli.runs import parse_options, refuse, show_run, train_run

if TYPE_CHECKING:
    from truelabel import Annotations
    from truelabel.cli.sources import Inputs, LabelColumns, Reading

METHOD_HELP = (
    "majority-vote: one vote each. dawid-skene: who mixes up which classes, from many labels a person. "
    "one-coin: how often each is right, from few. mace: who only guesses. glad: which examples are hard. "
    "For masks: majority-vote; staple: who mixes up which classes, image by image; spatial-staple: and where."
)
TRAINING = "Training (--data)"
MASKS = "Masks"


def fuse(
    labels: Annotated[
        list[Path],
        typer.Argument(
            help="CSV or Parquet with one row a label, or a .npy matrix. Or masks: a file of each reader of one image "
            "(PNG, TIFF, NIfTI, .npy), a folder of many, or .npy (R, H, W), (N, R, H, W) or (N, R, D, H, W).",
            metavar="LABELS|MASKS",
        ),
    ],
    method: Annotated[str, typer.Option(help=METHOD_HELP)] = "majority-vote",
    out: Annotated[
        Path | None, typer.Option(help="Folder for consensus, annotators, confusion and fusion.json.")
    ] = None,
    file_format: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the fusion, as name=value; may be repeated.")
    ] = None,
    example: Annotated[str | None, typer.Option(help="Column of examples; guessed by default.")] = None,
    annotator: Annotated[str | None, typer.Option(help="Column of annotators; guessed by default.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels; guessed by default.")] = None,
    classes: Annotated[str | None, typer.Option(help=CLASSES_HELP)] = None,
    wide: Annotated[bool, typer.Option("--wide", help=WIDE_HELP)] = False,
    annotator_columns: Annotated[str | None, typer.Option("--annotators", help=ANNOTATORS_HELP)] = None,
    seed: Annotated[int, typer.Option(help="Of ties, random starts and training.")] = 0,
    layout: Annotated[str | None, typer.Option(help=LAYOUT_HELP, rich_help_panel=MASKS)] = None,
    images: Annotated[
        str | None,
        typer.Option(
            help="How pictures in a folder are called, so that none is taken for a mask.", rich_help_panel=MASKS
        ),
    ] = None,
    readers: Annotated[str | None, typer.Option(help=READERS_HELP, rich_help_panel=MASKS)] = None,
    pattern: Annotated[str | None, typer.Option(help=PATTERN_HELP, rich_help_panel=MASKS)] = None,
    void: Annotated[str | None, typer.Option(help=VOID_HELP, rich_help_panel=MASKS)] = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Write those of each class too: .npy (K, …), or a NIfTI volume a class.",
            rich_help_panel=MASKS,
        ),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of images, table of features, or .npy/.npz: train on the consensus, keep the run in OUT/run.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(help="auto (by default), mlp[:WIDTH], lenet-5, resnet-18, …", rich_help_panel=TRAINING),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the examples; 50 by default.", rich_help_panel=TRAINING)
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="auto (by default), cpu, cuda or mps.", rich_help_panel=TRAINING)
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Inputs in a .npz file: name of the array.", rich_help_panel=TRAINING)
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="Feature table: column that names the examples.", rich_help_panel=TRAINING),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Feature table: columns to use, separated by commas.", rich_help_panel=TRAINING),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Feature table: columns to leave out.", rich_help_panel=TRAINING)
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="Images: bring to this size, like 64 or 48x64.", rich_help_panel=TRAINING),
    ] = None,
    grey: Annotated[bool, typer.Option("--grey", help="Images: one channel.", rich_help_panel=TRAINING)] = False,
) -> None:
    """Fuse the labels of many annotators into one consensus, and tell how good each annotator is.

    Masks are fused image by image, into one mask each.

    Examples and annotators without labels are left out. A folder that holds another fusion is refused.
    """
    from truelabel.cli import fusion_folder as folders
    from truelabel.cli.fusions import Fusion, parse_training, settled
    from truelabel.cli.mask_sources import are_masks
    from truelabel.cli.sources import LabelColumns, Reading, require_apart, require_existing
    from truelabel.metrics import confusion_interval

    require_existing(*labels, data)
    if file_format not in folders.FORMATS:
        raise ValueError(f"--format must be {' or '.join(folders.FORMATS)}, got {file_format!r}")
    for_training = {"--network": network, "--epochs": epochs, "--device": device, "--id": id_column, "--key": key}
    for_training |= {"--features": features, "--drop": drop, "--size": size, "--grey": grey or None}
    for_tables: dict[str, Any] = {"--example": example, "--annotator": annotator, "--label": label, "--data": data}
    for_tables |= {"--wide": wide or None, "--annotators": annotator_columns}
    for_masks = {"--layout": layout, "--images": images, "--readers": readers, "--pattern": pattern, "--void": void}
    options, recipe = parse_options(option or []), None
    if are_masks(labels):
        from truelabel.cli.fuse_masks import fuse_masks
        from truelabel.cli.mask_reading import MaskReading
        from truelabel.cli.mask_sources import find_masks

        refuse(for_tables, "for labels of whole examples: train on masks with `truelabel train`")
        refuse(for_training, "for training: train on masks with `truelabel train`")
        if out is not None:
            require_apart(out, labels[0])
        fusion = Fusion.parse(method, options, seed, masks=True)
        drawing = MaskReading.parse(layout, images, readers, pattern, classes, void)
        fuse_masks(find_masks(labels, drawing), fusion, out, file_format, drawing.void, probabilities)
        return
    refuse(
        {**for_masks, "--probabilities": probabilities or None},
        f"for masks, but {labels[0]} is no folder and no mask: leave it out",
    )
    _check_training(data, out, for_training)
    if data is None:
        fusion = Fusion.parse(method, options, seed)
    else:
        fusion, recipe = parse_training(method, options, seed)
    reading = Reading.parse(features, drop, id_column, size, grey, key)
    columns = LabelColumns.parse(example, annotator, label, classes, wide, annotator_columns)
    inputs, annotations, left_out = _read(data, labels[0], reading, columns)
    note = folders.describe(fusion, annotations, file_format)
    if out is not None:
        folders.check_folder(out, note)

    fused = fusion(annotations)
    note |= folders.result_note(annotations, fused)
    annotators = folders.annotator_table(annotations, fused)
    classifier = None
    if recipe is not None and inputs is not None and data is not None and out is not None:
        from truelabel.cli.run_quality import Source
        from truelabel.estimators import TrueLabelClassifier

        classifier = TrueLabelClassifier(
            settled(recipe, fused),
            "auto" if network is None else network,
            epochs=50 if epochs is None else epochs,
            device="auto" if device is None else device,  # type: ignore[arg-type]  # checked by Engine
            folder=out / "run",
            verbose=True,
            random_state=seed,
        )
        # No folds: the consensus that is trained on was made from the labels of all examples.
        train_run(classifier, inputs, annotations, out / "run", Source.of(data, labels[0]))
    tables = {"consensus": folders.consensus_table(annotations, fused), "annotators": annotators}
    if out is not None:
        if fused.confusion.size <= folders.MOST_CELLS:
            ends = confusion_interval(annotations, fused.posterior, fused.confusion)
            tables["confusion"] = folders.confusion_table(annotations, fused.confusion, ends)
        folders.write_fusion(out, tables, note)

    _show(annotations, annotators)
    _tell(note, left_out)
    if out is None:
        typer.echo("Nothing was written; name a folder with --out to keep the consensus.")
        return
    if "confusion" not in tables:
        typer.echo(f"No table of confusion: it would have {fused.confusion.size} rows. Python: truelabel.fusion.")
    typer.echo(f"Wrote {', '.join(tables)} and {folders.NOTE} to {out}")
    if classifier is not None:
        show_run(classifier, annotations, out / "run")


def _check_training(data: Path | None, out: Path | None, for_training: dict[str, Any]) -> None:
    if data is None:
        refuse(for_training, "for training: name the inputs with --data")
    elif out is None:
        raise ValueError("--data needs --out, a folder to keep the run in")


def _read(
    data: Path | None, labels: Path, reading: Reading, columns: LabelColumns
) -> tuple[Inputs | None, Annotations, str]:
    """Inputs of the same examples if asked for, the labels given, and what was left out for want of labels.

    Examples are in the order of their names, so that a fusion is the same with inputs and without.
    """
    import numpy as np

    from truelabel.cli.sources import read_pair
    from truelabel.cli.tables import counted

    inputs = None
    if data is None:
        everything = columns.annotations(labels)
    else:
        inputs, everything = read_pair(data, labels, reading, columns)
    given = {"example": everything.counts, "annotator": everything.workload}
    silent = {what: int((counts == 0).sum()) for what, counts in given.items()}
    annotations = everything
    if inputs is not None:
        kept = np.flatnonzero(everything.counts)
        kept = kept[np.argsort(everything.examples[kept], kind="stable")]
        inputs, annotations = inputs.take(kept), everything.take(kept).without_silent_annotators()
    elif any(silent.values()):
        annotations = everything.labelled()
    annotations.check_trainable()
    return inputs, annotations, counted(silent)


def _show(annotations: Annotations, annotators: dict[str, Any]) -> None:
    import numpy as np

    from truelabel.cli.tables import show_ends

    columns = [annotators[name] for name in ("annotator", "labels", "skill", "skill_low", "skill_high", "agreement")]
    rows = []
    for i in np.argsort(-annotators["skill"], kind="stable"):
        name, count, skill, low, high, agreement = (column[i] for column in columns)
        rows.append([name, count, f"{skill:.1%}", f"{low:.1%} to {high:.1%}", f"{agreement:.1%}"])
    titles = ["annotator", "labels", "skill", "95% interval", "agrees with the consensus"]
    show_ends(titles, rows, f"{annotations}")


def _tell(note: dict[str, Any], left_out: str) -> None:
    """How the fusion went, how far annotators agree, and what was left out: a line each."""
    if note["evidence"] is None:
        typer.echo(f"{note['method']} counts votes: it has no model, so no evidence, and nothing to converge")
    else:
        end = "converged" if note["converged"] else "not converged"
        typer.echo(f"{note['method']}: evidence {note['evidence']:.1f}, {end} after {note['iterations']} iterations")
    names = {"fleiss_kappa": "Fleiss' kappa", "krippendorff_alpha": "Krippendorff's alpha"}
    values = [f"{names[key]} {value:.2f}" for key, value in note["agreement"].items() if value is not None]
    undefined = "not defined, since no example has two labels, or all that have are of one class"
    typer.echo(f"Agreement beyond chance: {', '.join(values) or undefined}")
    if not values:
        typer.echo("What is said of annotators follows from their own labels alone")
    if left_out:
        typer.echo(f"Left out for want of labels: {left_out}")

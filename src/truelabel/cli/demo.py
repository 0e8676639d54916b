"""``truelabel demo``: the whole story in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from truelabel.data import Dataset

FLIPPERS = (0.3, 0.45, 0.6)
HAMMERS = (0.2, 0.9)
TRAINING = 1200
FOLDS = 5
TRUTH = "true labels (upper bound)"
# Six of the catalogue, picked after seeing their scores here; README gives those of all the others.
SHOWN = ("majority-vote", "cross-entropy", "dawid-skene", "generalized-cross-entropy", "forward", "annotator-confusion")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for labels, runs and results.")] = Path("truelabel-demo"),
    seeds: Annotated[int, typer.Option(help="How often to repeat it, with other annotators and another split.")] = 3,
    epochs: Annotated[int, typer.Option(help="Passes over the training images.")] = 40,
) -> None:
    """Simulate five unequal annotators on handwritten digits, learn from what they say, score on the truth."""
    import numpy as np
    import torch

    from truelabel.cli.tables import show
    from truelabel.data import digits
    from truelabel.report import write_report
    from truelabel.training import TrainingConfig
    from truelabel.training.files import write_json

    if seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {seeds}")
    TrainingConfig(epochs=epochs)
    # On two cores, more threads than one slow these small networks down.
    torch.set_num_threads(1)
    data = digits()
    typer.echo(
        f"{len(data)} images of digits: {TRAINING} to train on, {len(data) - TRAINING} to score on the truth.\n"
        "Five simulated annotators give each training image one to three labels: three flippers,\n"
        f"who mistake each digit for one other (right {_percents(FLIPPERS)} of the time),\n"
        f"and two hammer-spammers, who name any digit when they err ({_percents(HAMMERS)}).\n"
    )
    repeats = [_repeat(data, seed, epochs, out / f"seed-{seed}") for seed in range(seeds)]
    rows = [
        ["labels as given", _spread([r["given"] for r in repeats]), ""],
        ["majority vote of the labels", _spread([r["vote"] for r in repeats]), ""],
        ["Dawid–Skene on the labels", _spread([r["dawid_skene"] for r in repeats]), ""],
    ]
    rows += [
        [f"network, {name}", "", _spread([r["methods"][name]["test_accuracy"] for r in repeats])] for name in SHOWN
    ]
    rows.append([f"network, {TRUTH}", "", _spread([r["methods"][TRUTH]["test_accuracy"] for r in repeats])])
    show(["", "labels right", "test accuracy"], rows, title=f"Mean ± standard deviation of {seeds} repeats", right=1)
    skills = np.array([r["skills"] for r in repeats])
    kinds = _kinds()
    typer.echo()
    show(
        ["annotator", "truly right", "estimated without the truth"],
        [[kind, f"{t:.1%}", f"{e:.1%}"] for kind, (t, e) in zip(kinds, skills.mean(0), strict=True)],
        title=f"Whom to trust, by {SHOWN[-1]}",
        right=1,
    )
    write_json(out / "results.json", {"epochs": epochs, "repeats": repeats})
    typer.echo(f"\nLabels, runs and results are in {out}. Try: truelabel fuse {out / 'seed-0' / 'labels.csv'}")
    page = write_report(out / "seed-0" / SHOWN[-1]).path
    typer.echo(f"A page about the run of {SHOWN[-1]}, with the labels to look at: {page}")


def _repeat(data: Dataset, seed: int, epochs: int, folder: Path) -> dict[str, Any]:
    """One split, one draw of annotators, every method on the same labels."""
    from dataclasses import replace

    import numpy as np
    import torch

    from truelabel import Annotations, TrueLabelClassifier
    from truelabel.cli.runs import write_run_tables
    from truelabel.coding import name_array
    from truelabel.corruption import ConfusedAnnotators, hammer_spammers, pairwise_flippers
    from truelabel.fusion import dawid_skene, majority_vote

    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(data), generator=generator).numpy()
    train, test = data.take(order[:TRAINING]), data.take(order[TRAINING:])
    confusion = torch.cat([pairwise_flippers(10, FLIPPERS, generator), hammer_spammers(10, HAMMERS)])
    annotators = ConfusedAnnotators(confusion, labels_per_example=(1, 3))
    annotations = replace(annotators(torch.from_numpy(train.labels), None, generator), annotators=name_array(_kinds()))
    folder.mkdir(parents=True, exist_ok=True)
    annotations.to_table(folder / "labels.csv")
    right = annotations.label == train.labels[annotations.example]
    jobs = [(name, name, annotations) for name in SHOWN]
    jobs.append((TRUTH, "cross-entropy", Annotations.from_labels(train.labels)))
    methods, skills = {}, np.zeros(len(annotations.annotators))
    for title, method, labels in jobs:
        run = folder / ("true-labels" if title != method else method)
        classifier = TrueLabelClassifier(method, "mlp", epochs=epochs, device="cpu", folder=run, random_state=seed)
        classifier.fit(_flat(train), labels)
        classifier.save(run)
        methods[title] = {"test_accuracy": float((classifier.predict(_flat(test)) == test.labels).mean())}
        if title == SHOWN[-1]:
            skills = classifier.annotator_skill_
            if seed == 0:  # the report is about this run
                write_run_tables(classifier, _flat(train), annotations, run, FOLDS)
                np.save(run / "pictures.npy", train.inputs[:, 0])
    truly = np.bincount(annotations.annotator, weights=right) / annotations.workload
    return {
        "seed": seed,
        "given": float(right.mean()),
        "vote": float((majority_vote(annotations, seed=seed).labels == train.labels).mean()),
        "dawid_skene": float((dawid_skene(annotations).labels == train.labels).mean()),
        "methods": methods,
        "skills": np.stack([truly, skills], -1).tolist(),
    }


def _kinds() -> list[str]:
    return [*(f"flipper {p:.0%}" for p in FLIPPERS), *(f"hammer-spammer {p:.0%}" for p in HAMMERS)]


def _flat(data: Dataset) -> Any:
    return data.scaled().reshape(len(data), -1)


def _spread(values: list[float]) -> str:
    import numpy as np

    return f"{np.mean(values):.1%} ± {np.std(values, ddof=1):.1%}" if len(values) > 1 else f"{values[0]:.1%}"


def _percents(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.0%}" for value in values[:-1]) + f" and {values[-1]:.0%}"

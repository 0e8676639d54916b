"""MNIST digits drawn by five simulated readers: the MNIST columns of Tables 1 to 3 of Zhang 2020.

    python benchmarks/mnist_segmentation.py --prepare FOLDER
    python benchmarks/mnist_segmentation.py --readers FOLDER --out results/mnist_segmentation.jsonl [--workers 14]
    python benchmarks/mnist_segmentation.py --out results/mnist_segmentation.jsonl --table

Needs MNIST under the data root. The truth is where a digit is brighter than one half; readers are good, over, under,
wrong (fractures, then over) and blank, with the amounts of Morpho-MNIST. ``--prepare`` draws them once, which takes
about a minute. Images are clean, or have noise of standard deviation 0.3. All readers draw every image ("dense"), or
one, drawn at random, draws each ("one"). The first 10,000 training images, a fifth of them held out with their masks,
20 epochs of 250 steps of 32 images, Adam 1e-3, U-Net of width 16, the epoch that held-out masks choose.

A record has the mean Dice of the digit against the truth on 2,000 test images, the RMSE of the readers' confusion (mean
of the matrices over pixels of each true class, against what the readers really did on those images), and the
generalised energy distance of the masks that the method has for readers, or draws, from the real ones. One JSON line a
run is appended as it finishes; runs that are already there are skipped.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from runs import Key, add_arguments, machine, records, run_all

from truelabel.annotations import Annotations
from truelabel.data import mnist_segmentation
from truelabel.learners import Learner, ProbabilisticUNet
from truelabel.methods import Learned, get_method, learn
from truelabel.metrics import batch_energy_distance, confusion_rmse, dice, mean_confusion, reader_confusion
from truelabel.training import Engine, Job, TrainingConfig, clean_probs

# What is shown -> method, its options, cost of an epoch relative to a plain network.
METHODS: dict[str, tuple[str, dict[str, Any], float]] = {
    "pixelwise confusion": ("pixelwise-confusion", {}, 1.8),
    "STAPLE": ("staple", {}, 1.2),
    "Spatial STAPLE": ("spatial-staple", {}, 2.0),
    "without trace": ("pixelwise-confusion", {"trace": 0.0}, 1.8),
    "oracle": ("oracle-confusion", {}, 1.2),
    "mean label": ("mean-label", {}, 1.0),
    "mode label": ("majority-vote", {}, 1.0),
    "probabilistic U-Net": ("probabilistic-unet", {}, 2.5),
    "separate networks": ("separate-networks", {}, 4.5),
    "low rank": ("pixelwise-confusion-low-rank", {}, 2.2),
    "global confusion": ("annotator-confusion", {"shrinkage": 0.0}, 1.2),
}
SEVERAL = ("pixelwise confusion", "STAPLE")
"""Methods with three seeds."""

PUBLISHED = {  # Dice and CM error of Tables 1 and 2
    "dense": {
        "mean label": (38.36, None),
        "mode label": (62.89, None),
        "probabilistic U-Net": (65.12, None),
        "separate networks": (70.44, None),
        "STAPLE": (78.03, 0.1241),
        "Spatial STAPLE": (78.96, 0.1195),
        "without trace": (79.63, 0.1125),
        "pixelwise confusion": (82.92, 0.0893),
        "oracle": (83.29, 0.0238),
    },
    "one": {
        "mean label": (32.79, None),
        "mode label": (32.79, None),
        "STAPLE": (54.07, 0.2617),
        "Spatial STAPLE": (56.73, 0.2384),
        "without trace": (74.48, 0.1538),
        "pixelwise confusion": (76.48, 0.1329),
    },
}
READERS = ("good", "over", "under", "wrong", "blank")
TRAIN, TEST = 10_000, 2_000
NAMES = {"train": TRAIN, "test": TEST}
SAMPLES = 16


def prepare(folder: Path) -> None:
    """Draw the masks of all readers for all images, and who draws which if one does."""
    from truelabel.corruption import digit_readers

    folder.mkdir(parents=True, exist_ok=True)
    for split, count in NAMES.items():
        truth = torch.from_numpy(mnist_segmentation(split).labels[:count]).long()  # type: ignore[arg-type]
        said = digit_readers()(truth, None, torch.Generator().manual_seed(0))
        assert tuple(said.annotators) == READERS
        np.save(folder / f"{split}.npy", np.packbits(said.matrix().astype(bool), -1))
        print(f"drew {count} images of {split}")


@cache
def masks(folder: Path, split: Literal["train", "test"]) -> NDArray[np.int8]:
    """``(N, R, 28, 28)``."""
    return np.unpackbits(np.load(folder / f"{split}.npy"), -1, count=28).astype(np.int8)


@cache
def images(split: Literal["train", "test"], noise: float, examples: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Pictures and true masks; the noise of test images is another than that of training images."""
    data = mnist_segmentation(split, noise=noise, seed=1 if split == "test" else 0)
    return data.inputs[:examples], data.labels[:examples]


def said(folder: Path, labels: str, seed: int, examples: int) -> Annotations:
    """What readers drew: all of them every image, or one each."""
    drawn = masks(folder, "train")[:examples].astype(np.int64)
    if labels == "one":
        who = np.random.default_rng(seed).integers(len(READERS), size=len(drawn))
        drawn = np.where((who[:, None] == np.arange(len(READERS)))[..., None, None], drawn, -1)
    return Annotations.from_masks(drawn, classes=2, annotators=READERS)


def run(key: Key, folder: Path, device: str) -> Key:
    """Train one method; the record of it."""
    torch.set_num_threads(1)
    engine = Engine(device=device)  # type: ignore[arg-type]
    where = engine.fabric("32-true").device
    inputs, truth = images("train", key["noise"], key["examples"])
    annotations = said(folder, key["labels"], key["seed"], key["examples"])
    name, options, _ = METHODS[key["method"]]
    options = options | key.get("options", {})
    if name == "oracle-confusion":
        drawn = masks(folder, "train")[: key["examples"]].astype(np.int64)
        options = {"confusion": torch.from_numpy(reader_confusion(drawn, truth, 2))}
    tests, true_masks = images("test", key["noise"], key["test"])
    tested = torch.from_numpy(tests).to(where)

    def evaluate(learner: Learner) -> dict[str, float]:
        found = clean_probs(learner, tested[:500]).argmax(-1).numpy()
        return {"test_dice": float(dice(found, true_masks[:500], classes=2).mean())}

    job = Job(
        inputs,
        annotations,
        "unet:16",
        TrainingConfig(epochs=key["epochs"], batch_size=key["batch"], validation=0.2, precision=key["precision"]),
        key["seed"],
        evaluate=evaluate,
        capture=where.type == "cuda",
    )
    began = time.perf_counter()
    learned = learn(get_method(name).with_options(**options), job, engine)
    seconds = time.perf_counter() - began
    predicted = clean_probs(learned.learner, tested).argmax(-1).numpy()
    scores = dice(predicted, true_masks, classes=2)
    return {
        **key,
        "dice": float(scores.mean()),
        "dice_last": learned.history.rows[-1]["test_dice"],
        "confusion_rmse": rmse(learned, tested, true_masks, masks(folder, "test")[: key["test"]]),
        **energy(learned.learner, tested[:500], masks(folder, "test")[: len(tested)][:500]),
        "valid_loss": learned.history.rows[learned.history.best_epoch or -1]["valid_loss"],
        "best_epoch": learned.history.best_epoch,
        "dice_curve": [round(row["test_dice"], 4) for row in learned.history.rows],
        "seconds": round(seconds, 1),
        **machine(),
    }


def rmse(learned: Learned, inputs: torch.Tensor, truth: NDArray[Any], drawn: NDArray[Any]) -> float | None:
    """Of confusion matrices; None for methods without any."""
    real = reader_confusion(drawn.astype(np.int64), truth, 2)
    learner = learned.learner
    everybody = torch.arange(len(READERS), device=inputs.device)
    with torch.no_grad():
        values = inputs[:8].float() / (255 if inputs.dtype == torch.uint8 else 1)
        if learner.matrices_at(values, everybody.expand(8, -1)) is None:
            return None if learned.confusion is None else confusion_rmse(learned.confusion.numpy(), real)

        def maps() -> Any:
            for part in inputs.split(100):
                values = part.float() / (255 if part.dtype == torch.uint8 else 1)
                matrices = learner.matrices_at(values, everybody.expand(len(part), -1))
                assert matrices is not None
                yield from matrices.movedim(-3, 1).cpu().double().numpy()

        return confusion_rmse(mean_confusion(maps(), truth), real)


def energy(learner: Learner, inputs: torch.Tensor, drawn: NDArray[Any]) -> dict[str, float]:
    """Distance of the masks that a method has for readers from theirs, by IoU and by Dice."""
    values = inputs.float() / (255 if inputs.dtype == torch.uint8 else 1)
    with torch.no_grad():
        if isinstance(learner, ProbabilisticUNet):
            samples = learner.sample(values, SAMPLES, torch.Generator().manual_seed(0)).argmax(-1).movedim(0, 1)
        else:
            everybody = torch.arange(len(READERS), device=inputs.device).expand(len(inputs), -1)
            samples = learner.predict(values, everybody).noisy.all().argmax(-1).movedim(-1, 1)
    found = samples.cpu().numpy()
    return {
        f"energy_{kind}": float(batch_energy_distance(found, drawn.astype(np.int64), distance=kind, classes=2).mean())
        for kind in ("iou", "dice")
    }


def keys(told: argparse.Namespace) -> list[Key]:
    shared = {"examples": told.examples, "test": told.test, "epochs": told.epochs, "batch": 32}
    shared["precision"] = told.precision
    wanted = [
        {"method": method, "labels": labels, "noise": noise, "seed": seed, **shared} | options
        for method in told.methods or METHODS
        for seed in range(told.seeds if method in SEVERAL else 1)
        for labels in told.labels
        for noise in told.noise
        for options in [{"options": {**told.option}}] * bool(told.option) or [{}]
    ]
    return sorted(wanted, key=lambda key: (key["seed"], -METHODS[key["method"]][2]))


def table(lines: list[Key]) -> None:
    """Means over seeds, beside the paper."""
    for labels in ("dense", "one"):
        for noise in (0.0, 0.3):
            print(f"\n### {'all readers' if labels == 'dense' else 'one reader'} an image, noise {noise}\n")
            print("| method | Dice | paper | CM RMSE | paper | GED (IoU) | GED (Dice) | seeds |\n" + "|---" * 8 + "|")
            for method in METHODS:
                runs = [
                    line
                    for line in lines
                    if (line["method"], line["labels"], line["noise"]) == (method, labels, noise)
                    and "options" not in line
                ]
                if runs:
                    paper = PUBLISHED[labels].get(method, (None, None))
                    cells = [
                        spread([100 * line["dice"] for line in runs], 2),
                        "–" if paper[0] is None else f"{paper[0]:.2f}",
                        spread([line["confusion_rmse"] for line in runs], 4),
                        "–" if paper[1] is None else f"{paper[1]:.4f}",
                        spread([line["energy_iou"] for line in runs], 3),
                        spread([line["energy_dice"] for line in runs], 3),
                        str(len(runs)),
                    ]
                    print(f"| {method} | {' | '.join(cells)} |")


def spread(values: list[Any], digits: int) -> str:
    if any(value is None for value in values):
        return "–"
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--prepare", type=Path, help="draw the masks of readers into this folder, and leave")
    parser.add_argument("--readers", type=Path, help="folder that --prepare wrote")
    parser.add_argument("--table", action="store_true", help="print what there is, and leave")
    parser.add_argument("--methods", nargs="+", choices=METHODS)
    parser.add_argument("--labels", nargs="+", choices=("dense", "one"), default=["dense", "one"])
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.3])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--examples", type=int, default=TRAIN)
    parser.add_argument("--test", type=int, default=TEST)
    parser.add_argument("--option", type=json.loads, default={}, help="of the methods, as JSON")
    parser.add_argument("--precision", default="32-true")
    told = parser.parse_args()
    if told.table:
        table(records(told.out))
        return
    if told.prepare:
        prepare(told.prepare)
        return
    run_all(
        keys(told),
        partial(run, folder=told.readers, device=told.device),
        lambda key: METHODS[key["method"]][2] * key["epochs"],
        told,
        lambda line: (
            f"{line['method']} {line.get('options', '')} {line['labels']} {line['noise']}: "
            f"Dice {100 * line['dice']:.2f}, last {100 * line['dice_last']:.2f}, "
            f"RMSE {line['confusion_rmse']}, GED {line['energy_iou']:.3f}, epoch {line['best_epoch']}"
        ),
    )


if __name__ == "__main__":
    main()

"""Cells outlined by several experts (BU-BIL, Gurari 2015): learn from some readers, score against the others.

    python benchmarks/cells.py --cells FOLDER --prepare FILE
    python benchmarks/cells.py --prepared FILE --out results/cells.jsonl [--workers 14]
    python benchmarks/cells.py --out results/cells.jsonl --table

FOLDER holds ds1, ds2a (five people, two tools each) and ds4 (three people), a folder a picture. There is no truth here.
A split holds out a fifth of the pictures and some people: two of five in ds1 and ds2a with both their masks, one of
three in ds4. Methods learn from the other people's masks of the other pictures, and are scored by the Dice of what they
predict for the pictures held out against the consensus (STAPLE, or the mask itself if there is one) of the people held
out. Five splits of ds1 and ds2a, six of ds4; all methods have the same splits.

Pictures of 128 x 128 pixels, U-Net of width 16, Adam 1e-3 with a cosine schedule, 1,000 steps of 8 pictures, mirrored
and shifted, the last epoch. Pixelwise confusion has a warm-up of as many steps besides. With "one", each training
picture keeps the mask of one person, drawn at random.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from runs import Key, add_arguments, machine, records, run_all

from truelabel.annotations import Annotations
from truelabel.fusion import staple
from truelabel.methods import get_method, learn
from truelabel.metrics import dice
from truelabel.training import Engine, Job, TrainingConfig, clean_probs

METHODS: dict[str, tuple[str, float]] = {
    "pixelwise confusion": ("pixelwise-confusion", 1.5),
    "STAPLE": ("staple", 1.0),
    "Spatial STAPLE": ("spatial-staple", 1.2),
    "mode label": ("majority-vote", 1.0),
    "mean label": ("mean-label", 1.0),
}
SPLITS = {"ds1": 5, "ds2a": 5, "ds4": 6}
SIZE, STEPS, BATCH = 128, 1000, 8


def prepare(folder: Path, file: Path) -> None:
    """Read pictures and masks once, at the size at which they are used."""
    from truelabel.data import mask_folder

    arrays: dict[str, NDArray[Any]] = {}
    for name in SPLITS:
        read = mask_folder(folder / name, layout="case-folders", images="image", size=(SIZE, SIZE))
        assert read.images is not None
        arrays |= {
            f"{name}_images": read.images,
            f"{name}_masks": read.annotations.matrix().astype(np.int8),
            f"{name}_readers": read.readers.astype(str),
        }
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # names of arrays, not of options


@cache
def cells(file: Path, name: str) -> tuple[NDArray[Any], NDArray[np.int64], list[str]]:
    """Pictures ``(N, 1, H, W)``, masks ``(N, R, H, W)`` and the person behind each mask."""
    with np.load(file, allow_pickle=False) as arrays:
        people = [str(reader).partition("_")[0] for reader in arrays[f"{name}_readers"]]
        return arrays[f"{name}_images"], arrays[f"{name}_masks"].astype(np.int64), people


def divide(people: list[str], pictures: int, split: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks and pictures that are held out."""
    rng = np.random.default_rng(split)
    names = sorted(set(people))
    apart = rng.choice(names, 2 if len(names) > 3 else 1, replace=False) if len(names) > 3 else [names[split % 3]]
    tested = np.zeros(pictures, bool)
    tested[rng.permutation(pictures)[: pictures // 5]] = True
    return np.isin(people, apart), tested


def run(key: Key, file: Path, device: str) -> Key:
    """Learn from one split; the record of it."""
    torch.set_num_threads(1)
    engine = Engine(device=device)  # type: ignore[arg-type]
    where = engine.fabric("32-true").device
    pictures, masks, people = cells(file, key["data"])
    apart, tested = divide(people, len(pictures), key["split"])
    said = masks[~tested][:, ~apart]
    if key["labels"] == "one":
        who = np.random.default_rng(key["split"]).integers(said.shape[1], size=len(said))
        said = np.where((who[:, None] == np.arange(said.shape[1]))[..., None, None], said, -1)
    annotations = Annotations.from_masks(said, classes=2).without_silent_annotators()
    config = TrainingConfig(
        epochs=max(1, key["steps"] * BATCH // len(said)),
        batch_size=BATCH,
        schedule="cosine",
        validation=0.0,
        augment=("crop", "flip"),
    )
    capture = where.type == "cuda"
    job = Job(pictures[~tested], annotations, "unet:16", config, key["split"], capture=capture)
    began = time.perf_counter()
    learned = learn(get_method(METHODS[key["method"]][0]).with_options(**key["options"]), job, engine)
    seconds = time.perf_counter() - began
    consensus = np.stack([staple(readers, classes=2).labels for readers in masks[tested][:, apart]])
    found = clean_probs(learned.learner, torch.from_numpy(pictures[tested]).to(where)).argmax(-1).numpy()
    scores = dice(found, consensus, classes=2)
    between = [dice(masks[tested][:, reader], consensus, classes=2).mean() for reader in np.flatnonzero(~apart)]
    return {
        **key,
        "dice": float(scores.mean()),
        "dice_of_pictures": [round(float(score), 4) for score in scores],
        "readers_dice": [round(float(value), 4) for value in between],
        "train": len(said),
        "test": int(tested.sum()),
        "seconds": round(seconds, 1),
        **machine(),
    }


def table(lines: list[Key]) -> None:
    """Mean and spread over splits, and the difference of the first row from each other one, split by split."""
    for labels in ("all", "one"):
        print(f"\n{'all training readers' if labels == 'all' else 'one reader'} a picture\n")
        print(
            "| method | " + " | ".join(SPLITS) + " | ours less this, all splits |\n" + "|---" * (2 + len(SPLITS)) + "|"
        )
        scores: dict[str, dict[tuple[str, int], float]] = {}
        for line in sorted(lines, key=lambda line: list(METHODS).index(line["method"])):
            if line["labels"] == labels:
                row = scores.setdefault(name_of(line), {})
                row[line["data"], line["split"]] = 100 * line["dice"]
        ours = scores.get("pixelwise confusion", {})
        for name, row in scores.items():
            parts = [[score for (data, _), score in row.items() if data == wanted] for wanted in SPLITS]
            apart = [ours[at] - score for at, score in row.items() if at in ours]
            print(f"| {name} | {' | '.join(map(spread, parts))} | {'' if row is ours else spread(apart)} |")


def name_of(line: Key) -> str:
    options = "".join(f", {name}={value}" for name, value in line["options"].items())
    steps = "" if line["steps"] == STEPS else f", {line['steps']} steps"
    return f"{line['method']}{options}{steps}"


def spread(values: list[float]) -> str:
    return (
        f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f} ({len(values)})" if len(values) > 1 else "–"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--cells", type=Path, help="folder of the data, to prepare")
    parser.add_argument("--prepare", type=Path, help="write what is needed to this file, and leave")
    parser.add_argument("--prepared", type=Path, help="file that --prepare wrote")
    parser.add_argument("--table", action="store_true", help="print what there is, and leave")
    parser.add_argument("--data", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--labels", nargs="+", choices=("all", "one"), default=["all", "one"])
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--option", type=json.loads, default={}, help="of the methods, as JSON")
    told = parser.parse_args()
    if told.prepare:
        prepare(told.cells, told.prepare)
        return
    if told.table:
        table(records(told.out))
        return
    keys = [
        {"method": method, "data": data, "labels": labels, "split": split, "steps": told.steps, "options": told.option}
        for labels in told.labels
        for split in range(told.splits)
        for data in told.data
        for method in told.methods
        if split < SPLITS[data]
    ]
    run_all(
        keys,
        partial(run, file=told.prepared, device=told.device),
        lambda key: METHODS[key["method"]][1] * key["steps"],
        told,
        lambda line: f"{line['method']} {line['data']} {line['labels']} {line['split']}: Dice {100 * line['dice']:.2f}",
    )


if __name__ == "__main__":
    main()

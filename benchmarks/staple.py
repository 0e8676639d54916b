"""STAPLE beside SimpleITK: time, memory and masks, on images and volumes read by five.

    python benchmarks/staple.py [--cases …] [--seed 0]    # SimpleITK from PyPI must be installed
    python benchmarks/staple.py --images                  # one call for each of many small images, and Spatial STAPLE

CPU time of one thread. Each measurement runs in a process of its own, after a warm-up on a small image; a time is the
median of several calls. Masks lie ready in memory, as an array here and as images of SimpleITK there; its answer is
turned into an array off the clock. Memory is the peak of resident memory during the first call, less that before it.
Readers widen or narrow what is there by one or two voxels and err at single voxels. SimpleITK has one filter for two
classes and another for more, both at their default thresholds; voxels are counted whose labels differ, with both
starts that ``staple`` has.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.uint8]

CASES = {
    "512² K=2": ((512, 512), 2),
    "512² K=4": ((512, 512), 4),
    "100x192² K=2": ((100, 192, 192), 2),
    "100x192² K=4": ((100, 192, 192), 4),
}
READERS = ((1, 0.01), (-1, 0.01), (2, 0.02), (-2, 0.02), (0, 0.05))
"""Voxels by which a reader widens what is there, and the share of voxels at which they say anything at all."""

HEAD = """\
                     ms            faster      MiB                    labels that differ       right
                 ours       ITK           ours     ITK iterations  perfect majority     ours      ITK"""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def simulate(space: tuple[int, ...], classes: int, seed: int = 0) -> tuple[Masks, Masks]:
    """Masks ``(5, *space)`` and the truth: smooth regions, each class inside the one below it."""
    from scipy.ndimage import gaussian_filter, grey_dilation, grey_erosion

    rng = np.random.default_rng(seed)
    field = gaussian_filter(rng.standard_normal(space), 8)
    cuts = np.quantile(field, [0.85] if classes == 2 else np.linspace(0.8, 0.95, classes - 1))
    truth: Masks = np.searchsorted(cuts, field).astype(np.uint8)
    masks = []
    for wider, error in READERS:
        change = grey_dilation if wider > 0 else grey_erosion
        mask = change(truth, size=2 * abs(wider) + 1) if wider else truth.copy()
        anything = rng.random(space) < error
        mask[anything] = rng.integers(0, classes, int(anything.sum()))
        masks.append(mask)
    return np.stack(masks), truth


def ours(masks: Masks, classes: int) -> tuple[Callable[[], Any], Callable[[Any], NDArray[Any]]]:
    from truelabel.fusion import staple

    return lambda: staple(masks, classes=classes), lambda fused: fused.labels


def theirs(masks: Masks, classes: int) -> tuple[Callable[[], Any], Callable[[Any], NDArray[Any]]]:
    itk: Any = importlib.import_module("SimpleITK")  # whose calls are not typed
    itk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    images = [itk.GetImageFromArray(mask) for mask in masks]
    if classes == 2:
        probability = itk.STAPLEImageFilter()
        return lambda: probability.Execute(images), lambda image: itk.GetArrayFromImage(image) > 0.5
    label = itk.MultiLabelSTAPLEImageFilter()
    return lambda: label.Execute(images), itk.GetArrayFromImage


def measure(peer: str, path: Path, classes: int, repeats: int) -> dict[str, Any]:
    """In this process: median seconds and peak memory of one peer on one case; its labels go beside the masks."""
    build = ours if peer == "truelabel" else theirs
    build(simulate((16, 16), classes)[0], classes)[0]()
    call, labels = build(np.load(path), classes)
    before = reset_peak()
    result = call()
    memory = (memory_line("VmHWM") - before) / 1024
    np.save(path.with_name(f"{peer}.npy"), labels(result))
    iterations = len(result.history) if peer == "truelabel" else None
    del result
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return {"seconds": statistics.median(seconds), "mib": memory, "iterations": iterations}


def reset_peak() -> int:
    """Forget the peak of memory so far (Linux only); KiB in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_line("VmRSS")


def memory_line(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def apart(*arguments: str) -> dict[str, Any]:
    """Run this file in a process of its own, with one thread."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def side_by_side(case: str, seed: int, folder: Path) -> None:
    from truelabel.fusion import staple

    space, classes = CASES[case]
    masks, truth = simulate(space, classes, seed)
    path = folder / "masks.npy"
    np.save(path, masks)
    large = len(space) > 2
    we = apart("--measure", "truelabel", str(path), str(classes), "15" if large else "51")
    they = apart("--measure", "simpleitk", str(path), str(classes), "3" if large else "7")
    labels, peer = (np.load(folder / f"{name}.npy") for name in ("truelabel", "simpleitk"))
    majority = staple(masks, classes=classes, start="majority").labels
    print(
        f"{case:13} {1000 * we['seconds']:9.1f} {1000 * they['seconds']:9.1f} {they['seconds'] / we['seconds']:6.0f}x "
        f"{we['mib']:7.1f} {they['mib']:7.1f} {we['iterations']:10d} {int((labels != peer).sum()):8d} "
        f"{int((majority != peer).sum()):8d}  {(labels == truth).mean():8.2%} {(peer == truth).mean():8.2%}",
        flush=True,
    )


def many_images(count: int) -> None:
    """All images of a data set, one after the other."""
    from truelabel import Annotations
    from truelabel.fusion import fuse_images, spatial_staple, staple, vote_masks

    masks = np.stack([simulate((28, 28), 2, seed)[0] for seed in range(count)])
    annotations = Annotations.from_masks(masks, classes=2)
    for fuse in (vote_masks, staple, spatial_staple):
        began = time.process_time()
        fuse_images(annotations, fuse)
        print(f"{fuse.__name__:15} {1000 * (time.process_time() - began) / count:6.2f} ms an image of 28 x 28")
    for case, (space, classes) in CASES.items():
        masks, _ = simulate(space, classes)
        began = time.process_time()
        spatial_staple(masks, classes=classes)
        print(f"spatial_staple  {time.process_time() - began:6.2f} s for {case}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--seed", type=int, default=0, help="of the simulated masks")
    parser.add_argument("--images", nargs="?", type=int, const=1000, help="time this many small images instead")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        peer, path, classes, repeats = arguments.measure
        print(json.dumps(measure(peer, Path(path), int(classes), int(repeats))))
    elif arguments.images:
        many_images(arguments.images)
    else:
        print(HEAD)
        with tempfile.TemporaryDirectory() as folder:
            for case in arguments.cases:
                side_by_side(case, arguments.seed, Path(folder))


if __name__ == "__main__":
    main()

"""Five simulated readers of digits (Zhang 2020), as a picture: what each adds to the truth, and what each misses.

Run it with ``python examples/simulated_readers.py``; it takes seconds, writes ``simulated_readers.png``, and prints the
mean Dice and the share of right pixels of every reader. The digits are those of scikit-learn, enlarged to 24 x 24;
``--mnist`` takes the test digits of MNIST instead, which must have been fetched (``truelabel data fetch mnist``).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

import truelabel as tl

SIZE, GAP = 112, 8
BLACK, WHITE, ADDED, MISSED = (24, 24, 24), (255, 255, 255), (76, 120, 214), (226, 106, 44)


def digits(count: int, use_mnist: bool) -> NDArray[Any]:
    """Masks of digits ``(N, H, W)``, 1 where the ink is more than half."""
    if use_mnist:
        images = tl.data.mnist("test").scaled()[:count, 0]
    else:
        images = np.stack([zoom(image / 16, 3, order=1) for image in load_digits().images[:count]])
    return (images > 0.5).astype(np.int64)


def panel(drawn: NDArray[Any], truth: NDArray[Any]) -> Image.Image:
    """A mask in colours: right in black and white, too much in blue, too little in orange."""
    colours = np.array([[BLACK, ADDED], [MISSED, WHITE]], np.uint8)
    return Image.fromarray(colours[truth, drawn]).resize((SIZE, SIZE), Image.Resampling.NEAREST)


def figure(annotations: tl.Annotations, truth: NDArray[Any], rows: int, path: Path) -> None:
    """One row a digit, one column a reader."""
    masks = annotations.matrix()[:rows]
    names = annotations.annotators.tolist()
    image = Image.new("RGB", ((SIZE + GAP) * len(names) - GAP, 26 + (SIZE + GAP) * rows - GAP), "white")
    draw = ImageDraw.Draw(image)
    for column, name in enumerate(names):
        left = column * (SIZE + GAP)
        draw.text((left + 4, 4), name, fill="black", font=ImageFont.load_default(15))
        for row in range(rows):
            image.paste(panel(masks[row, column], truth[row]), (left, 26 + row * (SIZE + GAP)))
    image.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="digits that are scored")
    parser.add_argument("--rows", type=int, default=4, help="digits that are shown")
    parser.add_argument("--mnist", action="store_true")
    arguments = parser.parse_args()
    truth = digits(arguments.count, arguments.mnist)
    readers = tl.corruption.digit_readers()
    annotations = readers(torch.from_numpy(truth), None, torch.Generator().manual_seed(0))
    for name, masks in zip(readers.readers, annotations.matrix().swapaxes(0, 1), strict=True):
        score = tl.metrics.dice(masks, truth).mean()
        print(f"{name:6} Dice {score:.2f}, {(masks == truth).mean():.1%} of the pixels right")
    figure(annotations, truth, arguments.rows, Path("simulated_readers.png"))
    print("wrote simulated_readers.png: blue is too much, orange too little")


if __name__ == "__main__":
    main()

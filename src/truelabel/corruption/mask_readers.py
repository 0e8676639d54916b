"""Simulated readers of masks, who each draw what they see of every image."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations, label_type
from truelabel.checks import check_whole
from truelabel.coding import name_array
from truelabel.corruption.assignment import assign, label_bounds
from truelabel.corruption.reader import Reader
from truelabel.corruption.true_mask import TrueMask


class MaskReaders:
    r"""A group of readers of images: ``(masks (N, *space), inputs, generator) -> Annotations``.

    Each image is drawn by a number of readers drawn uniformly from ``labels_per_example``, who are drawn without
    replacement (Zhang 2020: all of them, or one). Every reader has their own draws for every image: who else draws it
    changes nothing, and the masks of one reader an image are among those of all readers from the same generator.

    Args:
        readers: by name.
        classes: K, of the masks.
        labels_per_example: how many readers draw an image: a number, or at least and at most; None for all.

    Attributes:
        confusion: ``(R, K, K)``, counted over all voxels of the masks that were drawn in the last call. A class that
            the truth of these masks never has gets the row of the identity; so do all before the first call.

    Example:
        >>> from truelabel.corruption import Blank, EdgeAdded
        >>> readers = MaskReaders({"over": EdgeAdded(), "blank": Blank()})
        >>> masks = torch.tensor([[[0, 1, 0], [0, 0, 0]]])
        >>> annotations = readers(masks, None, torch.Generator().manual_seed(0))
        >>> annotations.annotators.tolist(), annotations.matrix()[0, 0].tolist()
        (['over', 'blank'], [[1, 1, 1], [0, 1, 0]])
        >>> readers.confusion[:, 0]  # of background
        tensor([[0.4000, 0.6000],
                [1.0000, 0.0000]], dtype=torch.float64)
    """

    def __init__(
        self,
        readers: Mapping[str, Reader],
        classes: int = 2,
        labels_per_example: int | tuple[int, int] | None = None,
    ) -> None:
        if not readers:
            raise ValueError("readers must name at least one reader")
        check_whole("classes", classes, 2)
        self.readers = dict(readers)
        self.classes = classes
        self.labels_per_example = label_bounds(labels_per_example, len(self.readers))
        self.confusion = torch.eye(classes, dtype=torch.double).repeat(len(self.readers), 1, 1)

    def __call__(self, masks: Tensor, inputs: Tensor | None, generator: torch.Generator) -> Annotations:
        self._check(masks)
        kind = label_type(self.classes)
        true = masks.numpy().astype(kind)
        n, readers = len(true), list(self.readers.values())
        seeds = torch.randint(2**62, (n, len(readers)), generator=generator).tolist()
        example, annotator = (
            who.numpy().astype(np.int32) for who in assign(n, len(readers), self.labels_per_example, None, generator)
        )
        label = np.empty((len(example), *true.shape[1:]), kind)
        counts = np.zeros((len(readers), self.classes**2))
        truth, drawn = TrueMask(np.zeros(0, kind)), -1
        # One mask at a time: what the readers of an image share is forgotten before the next.
        for row, (i, r) in enumerate(zip(example.tolist(), annotator.tolist(), strict=True)):
            if i != drawn:
                truth, drawn = TrueMask(true[i]), i
            label[row] = readers[r](truth, torch.Generator().manual_seed(seeds[i][r]))
            pairs = true[i].astype(np.int64) * self.classes + label[row]
            counts[r] += np.bincount(pairs.ravel(), minlength=self.classes**2)
        self.confusion = self._shares(torch.from_numpy(counts).unflatten(1, (self.classes, self.classes)))
        return Annotations(
            example, annotator, label, np.arange(n), name_array(list(self.readers)), tuple(range(self.classes))
        )

    def _shares(self, counts: Tensor) -> Tensor:
        total = counts.sum(-1, keepdim=True)
        return torch.where(total > 0, counts / total.clamp_min(1), torch.eye(self.classes, dtype=torch.double))

    def _check(self, masks: Tensor) -> None:
        if (
            masks.dim() < 2
            or masks.is_floating_point()
            or bool((masks < 0).any())
            or bool((masks >= self.classes).any())
        ):
            raise ValueError(f"masks must be (N, *space) integers in 0..{self.classes - 1}")

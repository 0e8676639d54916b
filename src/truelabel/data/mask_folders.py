"""A folder of images with the masks of several readers."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Literal

from truelabel.data.cases import read_cases
from truelabel.data.folder import existing_folder
from truelabel.data.mask_classes import Classes
from truelabel.data.mask_layouts import Layout, Roles, find_cases
from truelabel.data.preparation import Preparation
from truelabel.data.read_images import ReadImages


def mask_folder(
    folder: str | os.PathLike[str],
    *,
    layout: Layout | None = None,
    images: str | Sequence[str] | None = "image",
    readers: Sequence[str] | None = None,
    pattern: str | None = None,
    classes: Classes | None = None,
    void: int | Collection[int] | None = None,
    normalise: Literal["nonzero", "all"] | None = None,
    spacing: Sequence[float] | None = None,
    size: Sequence[int] | None = None,
    crop: Sequence[int] | None = None,
    mode: Literal["RGB", "L"] | None = None,
    unread: Literal["error", "drop", "keep"] = "error",
) -> ReadImages:
    """Read images and everybody's masks of them. A reader may have left images out.

    Three layouts are known. Further folders, endings and files of other kinds do not matter, so
    ``images/p1/s3.jpg`` and ``ann/p1/s3.png`` belong together.

    - ``"reader-folders"``: ``images/a.png``, ``ann/a.png``, ``bob/a.png``.
    - ``"case-folders"``: ``a/image.png``, ``a/ann.png``, ``a/bob.png``.
    - ``"suffixes"``: ``a.png`` or ``a_image.png``, ``a_ann.png``, ``a_bob.png``.

    Args:
        folder: where they are; no file outside it is read.
        layout: one of the three; by default told by where the pictures are.
        images: how the folder, file or suffix of pictures is called, without regard to case or a plural s. Several
            names are channels in that order, such as ``("flair", "t1")``. None reads masks only.
        readers: those wanted, in that order; all, sorted, by default.
        pattern: how masks are called, with ``{image}`` and ``{reader}`` where these stand: by default ``"{image}"``,
            ``"{reader}"`` and ``"{image}_{reader}"`` in the three layouts. What does not follow it is no mask.
        classes: the number of classes, the values in the masks, the names of 0, 1, 2, …, or a dict from values to
            names. By default the values found, sorted.
        void: values that mean "no label". 255 beside other values than 0 must be here or in ``classes``; where there
            are only 0 and 255, or 0 and 1, it is class 1.
        normalise: give each channel of each image mean 0 and variance 1, over ``"all"`` pixels or the ``"nonzero"``.
        spacing: resample to this spacing; pictures other than NIfTI have 1.
        size: then resize to this many pixels: linear for pictures, nearest for masks.
        crop: or cut or pad to this many, round the centre; padding is 0, and -1 in masks.
        mode: bring pictures of 8 bits to colour or grey.
        unread: what to do with an image that nobody read: it is an ``"error"``, or ``"drop"`` it, or ``"keep"`` it.

    Returns:
        Images in the order of their names.

    Raises:
        NotADirectoryError: if ``folder`` is none.
        ValueError: if a file cannot be read; a mask is none, has no image or does not lie where its image lies; an
            image has no mask; or sizes differ and neither ``size`` nor ``crop`` are given.

    Example:
        >>> import numpy as np, pathlib, tempfile
        >>> from truelabel.data import write_mask
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("a/image.npy", "a/ann.npy", "a/bob.npy", "b/image.npy", "b/bob.npy"):
        ...         write_mask(pathlib.Path(folder, name), np.eye(4, dtype=int))
        ...     data = mask_folder(folder)
        >>> data
        ReadImages(2 images of 4 x 4, 3 masks by 2 readers, 2 classes: 0, 1)
        >>> data.annotations.counts, data.readers.tolist()
        (array([2, 1]), ['ann', 'bob'])
    """
    top = existing_folder(folder)
    if unread not in ("error", "drop", "keep"):
        raise ValueError(f"unread {unread!r} is unknown: pass 'error', 'drop' or 'keep'")
    if isinstance(readers, str):
        raise TypeError(f"readers is the text {readers!r}: pass a list of names, [{readers!r}]")
    names = (images,) if isinstance(images, str) else images
    if names is not None and len(names) == 0:
        raise ValueError("images is empty: say how pictures are called, or pass None to read masks only")
    roles = Roles(None if names is None else tuple(names), None if readers is None else tuple(readers))
    cases, found = find_cases(top, layout, roles, pattern)
    silent = [case for case in cases if not case.masks]
    if silent and unread == "error":
        raise ValueError(
            f"image {silent[0].name!r} in {top} has no mask by any reader: add one, or pass unread='drop' or 'keep'"
        )
    if unread == "drop":
        cases = [case for case in cases if case.masks]
    preparation = Preparation(normalise, spacing, size, crop)
    return read_cases(cases, found, classes=classes, void=void, preparation=preparation, mode=mode)

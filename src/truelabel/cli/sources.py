"""From the files that a user names to inputs and annotations that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truelabel import Annotations

ARRAYS = (".npy", ".npz")


@dataclass(frozen=True)
class Inputs:
    """What a network sees, and what each example is called.

    Attributes:
        values: ``(N, ...)``.
        names: ``(N,)``.
    """

    values: NDArray[Any]
    names: list[Any]


def read_inputs(
    source: Path,
    *,
    id_column: str | None = None,
    columns: list[str] | None = None,
    drop: list[str] | None = None,
    size: tuple[int, int] | None = None,
    grey: bool = False,
    files: list[str] | None = None,
    example_column: str | None = None,
) -> Inputs:
    """Inputs from a folder of images, an array file or a table of features.

    Args:
        source: what the user named.
        id_column: column of a table that names its examples.
        columns: features to use; all other columns of a table by default.
        drop: columns of a table to leave out.
        size: height and width that images are brought to.
        grey: one channel instead of three.
        files: images of a folder to read, in this order; all of them by default.
        example_column: a column of this name in a feature table names its examples, unless ``id_column`` does.
    """
    from truelabel.data import feature_table, image_folder, list_images, load_array

    if source.is_dir():
        names = files if files is not None else list_images(source)
        return Inputs(image_folder(source, names, size=size, mode="L" if grey else "RGB"), list(names))
    if not source.exists():
        raise FileNotFoundError(f"there is no file or folder {source}")
    if source.suffix.lower() in ARRAYS:
        values = load_array(source)
        return Inputs(_finite(values, source), list(range(len(values))))
    if id_column is None and example_column is not None:
        from truelabel.frames import Table

        id_column = example_column if example_column in Table(source).columns else None
    features = feature_table(source, columns=columns, drop=drop or (), id=id_column)
    return Inputs(features.inputs, list(features.ids))


def read_annotations(
    source: Path,
    *,
    example: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    classes: list[str] | None = None,
    examples: list[Any] | None = None,
) -> Annotations:
    """Annotations from a long table, or from a matrix in an array file."""
    from truelabel import Annotations
    from truelabel.data import load_array

    if source.suffix.lower() in ARRAYS:
        matrix = load_array(source)
        if matrix.ndim == 1:
            return Annotations.from_labels(matrix, classes=classes)
        return Annotations.from_matrix(matrix, classes=classes)
    return Annotations.from_table(
        source, example=example, annotator=annotator, label=label, classes=classes, examples=examples
    )


def example_column(source: Path, given: str | None) -> str | None:
    """The column of a label table that names examples; None for array files."""
    from truelabel.frames import Table, guess_columns

    if source.suffix.lower() in ARRAYS:
        return None
    return guess_columns(Table(source), {"example": given})["example"]


def parse_size(text: str | None) -> tuple[int, int] | None:
    """``64`` or ``48x64`` (height x width)."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"--size must be like 64 or 48x64, got {text!r}")
    return int(parts[0]), int(parts[-1])


def parse_list(text: str | None) -> list[str] | None:
    """``a,b,c``, spaces trimmed."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _finite(values: NDArray[np.generic], source: Path) -> NDArray[Any]:
    import numpy as np

    if values.ndim < 2 or not len(values):
        raise ValueError(f"{source} must hold (examples, ...), got shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int((~np.isfinite(values)).reshape(len(values), -1).any(-1).argmax())
        raise ValueError(f"{source} contains NaN or infinity in row {row + 1}: remove or fill it")
    return values

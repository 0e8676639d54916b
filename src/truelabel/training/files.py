"""Files of a run, each whole or absent: tensors as safetensors, everything else as JSON, nothing pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from truelabel.atomic import write_atomically


class RunFolderError(RuntimeError):
    """A run folder that holds something other than what was expected."""


def write_json(path: Path, value: Any) -> None:
    """A JSON file, indented for people."""
    write_atomically(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """A JSON file, or a one-line error that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunFolderError(f"cannot read {path}: {error}") from error


def write_tensors(path: Path, tensors: Mapping[str, Tensor], note: Any = None) -> None:
    """Tensors by name and a JSON value in one safetensors file."""
    from safetensors.torch import save

    # Copies, because safetensors refuses tensors that share memory, as tied weights do.
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    write_atomically(path, save(plain, {"note": json.dumps(note)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Any]:
    """What :func:`write_tensors` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads((file.metadata() or {})["note"])  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise RunFolderError(f"cannot read {path}: {error}") from error

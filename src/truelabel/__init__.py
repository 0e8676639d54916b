"""truelabel: learn the truth from wrong labels.

One noisy label per example, or many annotators who disagree. Names below are imported when they are first used, so that
``import truelabel`` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truelabel import (
        corruption,
        data,
        fusion,
        learners,
        losses,
        methods,
        metrics,
        networks,
        noise,
        quality,
        selection,
        transforms,
    )
    from truelabel.annotations import Annotations
    from truelabel.estimators import TrueLabelClassifier, TrueLabelSegmenter
    from truelabel.quality import find_label_errors

__version__ = "0.1.0"

__all__ = [
    "Annotations",
    "TrueLabelClassifier",
    "TrueLabelSegmenter",
    "__version__",
    "corruption",
    "data",
    "find_label_errors",
    "fusion",
    "learners",
    "losses",
    "methods",
    "metrics",
    "networks",
    "noise",
    "quality",
    "selection",
    "transforms",
]

_HOMES = {
    "Annotations": "truelabel.annotations",
    "TrueLabelClassifier": "truelabel.estimators",
    "TrueLabelSegmenter": "truelabel.estimators",
    "find_label_errors": "truelabel.quality",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"truelabel.{name}")
    raise AttributeError(f"module 'truelabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

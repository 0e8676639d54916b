"""What a figure shows without any training: a formula, or a simulation, frozen and hashed like a training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Calculation:
    """A calculation and its options.

    Attributes:
        calculation: name in :data:`~truelabel.experiments.calculations.CALCULATIONS`.
        options: plain values.

    Example:
        >>> len(Calculation(calculation="attenuated-loss", options={"scale": 0.5}).identity(seed=0))
        16
    """

    calculation: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        plain: dict[str, Any] = json.loads(json.dumps({"calculation": self.calculation, "options": dict(self.options)}))
        return plain

    def identity(self, seed: int) -> str:
        """Sixteen hexadecimal digits that name it, with a seed."""
        return hashed({**self.to_json(), "seed": seed})


def hashed(plain: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits of plain values, whatever their order, on every machine the same.

    Example:
        >>> hashed({"a": 1, "b": [2]}) == hashed({"b": [2], "a": 1})
        True
    """
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]

"""How far annotators agree beyond chance, without knowing the truth."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations, require_annotations

Array = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]


def fleiss_kappa(annotations: Annotations) -> float:
    r"""Fleiss' kappa: agreement of many annotators beyond chance (Fleiss 1971).

    .. math::
        \kappa = \frac{\bar P - P_e}{1 - P_e}, \quad
        \bar P = \frac{1}{N} \sum_n \sum_k \frac{c_{nk} (c_{nk} - 1)}{c_n (c_n - 1)}, \quad
        P_e = \sum_k \left( \frac{\sum_n c_{nk}}{\sum_n c_n} \right)^2

    Here :math:`c_{nk}` of the :math:`c_n` labels of example n are of class k. Fleiss takes the same number of labels
    of every example; otherwise every example counts alike in :math:`\bar P`, and every label alike in :math:`P_e`.
    Examples with fewer than two labels are left out of both. Cost follows the number of labels.

    Args:
        annotations: what was said.

    Returns:
        1 for full agreement, 0 for that of chance, less below; NaN if all labels are of one class.

    Example:
        >>> round(fleiss_kappa(Annotations.from_matrix([[0, 0, 1], [1, 1, 1], [0, 0, 0]])), 4)
        0.55
    """
    votes = _Votes(annotations)
    agreed = np.bincount(votes.example, votes.count * (votes.count - 1.0))
    observed = (agreed / (votes.total * (votes.total - 1.0))).mean()
    chance = ((votes.per_class / votes.per_class.sum()) ** 2).sum()
    return _beyond(float(1 - observed), float(1 - chance))


def krippendorff_alpha(annotations: Annotations, level: Level = "nominal") -> float:
    r"""Krippendorff's alpha: one minus observed by expected disagreement (Krippendorff 2011).

    .. math::
        \alpha = 1 - \frac{D_o}{D_e}, \quad
        D_o = \frac{1}{L} \sum_n \frac{1}{c_n - 1} \sum_{a \ne b} \delta(\tilde y_{na}, \tilde y_{nb}), \quad
        D_e = \frac{1}{L (L - 1)} \sum_{kj} m_k m_j\, \delta(k, j)

    Sums run over the L labels of examples with :math:`c_n \ge 2` labels; :math:`m_k` of them are of class k. The
    difference δ of two classes is 1 ("nominal"), the squared difference of their values ("interval"), or that of their
    mean ranks among all labels ("ordinal"). Labels may be missing anywhere. Cost follows the number of labels.

    Args:
        annotations: what was said.
        level: what the classes are: mere names; in order (that of ``annotations.classes``); or numbers whose
            differences mean something (their names must be numbers).

    Returns:
        1 for full agreement, 0 for that of chance, less below; NaN if all labels are of one class.

    Example:
        >>> grades = Annotations.from_matrix([[1, 2], [3, 3], [1, 1], [4, 5]])
        >>> [round(krippendorff_alpha(grades, level), 3) for level in ("nominal", "ordinal", "interval")]
        [0.417, 0.889, 0.891]
    """
    if level not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"level must be 'nominal', 'ordinal' or 'interval', got {level!r}")
    votes = _Votes(annotations)
    size = votes.per_class.sum()
    if level == "nominal":
        differing = votes.total.astype(float) ** 2 - np.bincount(votes.example, votes.count.astype(float) ** 2)
        expected = size**2 - (votes.per_class**2).sum()
    else:
        values = _ranks(votes.per_class) if level == "ordinal" else _numbers(annotations)
        # Their mean is taken off so that large numbers do not cancel: Σ (a - b)² = 2 (c Σ a² - (Σ a)²).
        values = values - votes.per_class @ values / size
        first, second = (np.bincount(votes.example, votes.count * values[votes.label] ** power) for power in (1, 2))
        differing = 2 * (votes.total * second - first**2)
        expected = 2 * size * (votes.per_class @ values**2)
    observed = (differing / (votes.total - 1.0)).sum() / size
    return _beyond(float(observed), float(expected / (size * (size - 1))))


def cohen_kappa(annotations: Annotations) -> Array:
    r"""Cohen's kappa of every two annotators, over the examples that both labelled (Cohen 1960).

    .. math:: \kappa_{ab} = \frac{P_o - P_e}{1 - P_e}

    :math:`P_o` is the share of their common examples on which a and b agree, :math:`P_e` the share on which two who
    name classes as often as they do, at random, would. Cost follows the pairs of labels of the same example, and
    :math:`R^2`.

    Args:
        annotations: what was said.

    Returns:
        ``(R, R)``, symmetric, 1 on the diagonal; NaN where two share no example, or where both always name the same
        one class.

    Example:
        >>> cohen_kappa(Annotations.from_matrix([[0, 0, -1], [0, 1, -1], [1, 1, -1], [1, 1, -1]])).round(2)
        array([[1. , 0.5, nan],
               [0.5, 1. , nan],
               [nan, nan, 1. ]])
    """
    from scipy.sparse import csr_array

    _refuse_masks(annotations)
    shape = (len(annotations.annotators), len(annotations.examples))

    def table(labels: Any) -> Any:
        """1 where an annotator gave one of these labels: ``(R, N)``."""
        place = (annotations.annotator[labels], annotations.example[labels])
        return csr_array((np.ones(len(place[0])), place), shape=shape)

    given = table(slice(None))
    shared = (given @ given.T).toarray()
    agreed, chance = np.zeros_like(shared), np.zeros_like(shared)
    by_class = np.argsort(annotations.label, kind="stable")
    for labels in np.split(by_class, np.cumsum(np.bincount(annotations.label))[:-1]):
        named = table(labels)
        often = named @ given.T  # how often a named this class on the examples shared with b
        for total, term in ((agreed, named @ named.T), (chance, often.multiply(often.T))):
            cells = term.tocoo()
            total[cells.row, cells.col] += cells.data
    np.fill_diagonal(shared, 0)
    # In whole numbers, so that agreement on one class alone is seen exactly.
    beyond, possible = agreed * shared - chance, shared**2 - chance
    kappa: Array = np.divide(beyond, possible, out=np.full(shared.shape, np.nan), where=possible > 0)
    np.fill_diagonal(kappa, 1.0)
    return kappa


class _Votes:
    """How often each class was named of each example with two labels or more; only what was named is held.

    Attributes:
        example: ``(V,)`` position among the examples with two labels or more, ascending.
        label: ``(V,)`` class.
        count: ``(V,)`` how often it was named.
        total: labels of each of these examples.
        per_class: ``(K,)`` labels of each class.
    """

    def __init__(self, annotations: Annotations) -> None:
        _refuse_masks(annotations)
        counts, k = annotations.counts, len(annotations.classes)
        kept = counts >= 2
        if not kept.any():
            raise ValueError("annotations has no example with two labels: agreement needs some that several labelled")
        position = np.cumsum(kept) - 1
        labels = kept[annotations.example]
        key = position[annotations.example[labels]] * k + annotations.label[labels]
        key, self.count = np.unique(key, return_counts=True)
        self.example, self.label = np.divmod(key, k)
        self.total = counts[kept]
        self.per_class = np.bincount(self.label, self.count, minlength=k).astype(np.float64)


def _ranks(per_class: Array) -> Array:
    """Mean rank of each class among all labels, sorted by class."""
    ranks: Array = np.cumsum(per_class) - per_class / 2
    return ranks


def _numbers(annotations: Annotations) -> Array:
    try:
        return np.array([float(name) for name in annotations.classes])
    except (TypeError, ValueError):
        shown = ", ".join(str(name) for name in annotations.classes[:3])
        raise ValueError(
            f"level 'interval' needs classes that are numbers, got {shown}: use 'ordinal', or pass numbers"
        ) from None


def _beyond(observed: float, expected: float) -> float:
    return 1 - observed / expected if expected > 0 else float("nan")


def _refuse_masks(annotations: Annotations) -> None:
    require_annotations(annotations)
    if annotations.space:
        raise ValueError("annotations holds masks: pass Annotations.from_matrix(...) of their pixels instead")

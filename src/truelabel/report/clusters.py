"""Who behaves alike: annotators grouped by their confusion matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truelabel.report.annotator_cards import Mistake, telling_mistakes
from truelabel.report.run_folder import RunFolder

ALIKE = 0.2
"""Annotators whose answers differ, on average over classes, in less than this share."""

MOST = 300
"""Annotators that are compared: those with most labels, since the cost grows with the square."""


class Cluster(NamedTuple):
    """People who make the same of the same classes: their names, mean skill, and the mistakes that they share."""

    people: list[str]
    skill: float
    mistakes: list[Mistake]


def annotator_clusters(run: RunFolder) -> list[Cluster]:
    """Groups of annotators, the largest first; empty where there is nobody to compare."""
    if run.confusion is None:
        return []
    known = np.flatnonzero(np.isfinite(run.confusion).all((1, 2)) & np.array([p.labels > 0 for p in run.people]))
    busiest = sorted(known.tolist(), key=lambda i: -run.people[i].labels)[:MOST]
    if len(busiest) < 2:
        return []
    cells = run.confusion[busiest]
    groups = []
    for number in np.unique(group := cluster_confusion(cells)):
        inside = np.flatnonzero(group == number)
        people = [run.people[busiest[i]] for i in inside]
        mean = cells[inside].mean(0)
        groups.append(
            Cluster(
                [p.name for p in people],
                float(np.mean([p.skill for p in people])),
                telling_mistakes(mean, run.classes, 3),
            )
        )
    return sorted(groups, key=lambda cluster: (-len(cluster.people), cluster.skill))


def cluster_confusion(confusion: NDArray[np.float64], alike: float = ALIKE) -> NDArray[np.int64]:
    r"""Hierarchical clustering (average linkage) of confusion matrices ``(R, K, K)``, R at least 2.

    Two annotators are as far apart as their answers are, in total variation, on average over the true classes:

    .. math:: d(a, b) = \frac{1}{2K} \sum_{ij} | T^{(a)}[i, j] - T^{(b)}[i, j] |

    Args:
        confusion: ``[annotator, true, observed]``.
        alike: groups are merged up to this mean distance.

    Returns:
        ``(R,)`` the number of each one's group, from 1.

    Example:
        >>> careful, swaps = np.eye(2), np.eye(2)[::-1]
        >>> cluster_confusion(np.stack([careful, swaps, careful]))
        array([1, 2, 1])
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    flat = confusion.reshape(len(confusion), -1)
    tree = linkage(pdist(flat, "cityblock") / (2 * confusion.shape[1]), "average")
    return np.asarray(fcluster(tree, alike, "distance"), np.int64)

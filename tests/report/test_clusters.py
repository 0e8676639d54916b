"""Who behaves alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from truelabel.report import read_run
from truelabel.report.annotator_cards import Mistake
from truelabel.report.clusters import annotator_clusters, cluster_confusion
from truelabel.report.run_tables import Person


def test_groups_follow_the_mean_total_variation() -> None:
    steady = np.eye(3)
    shifted = np.roll(np.eye(3), 1, axis=1)
    near = 0.9 * steady + 0.1 * shifted  # a tenth of its answers differ
    far = 0.7 * steady + 0.3 * shifted
    assert cluster_confusion(np.stack([steady, near, shifted])).tolist() in ([1, 1, 2], [2, 2, 1])
    assert len(set(cluster_confusion(np.stack([steady, far])).tolist())) == 2
    assert len(set(cluster_confusion(np.stack([steady, far]), alike=0.31).tolist())) == 1


def test_a_group_has_its_people_skill_and_shared_mistakes(trained: Path) -> None:
    run = read_run(trained)
    swap = np.eye(4)[[1, 0, 2, 3]]
    people = [Person(name, 9, skill, None, None) for name, skill in zip("abcd", (0.2, 0.9, 0.4, 0.7), strict=True)]
    confusion = np.stack([swap, np.eye(4), swap, np.roll(np.eye(4), 2, axis=1)])
    first, *rest = annotator_clusters(replace(run, people=people, confusion=confusion))
    assert first.people == ["a", "c"]
    assert first.skill == pytest.approx(0.3)
    zero, script = run.classes[:2]
    assert first.mistakes == [Mistake(zero, script, 1.0), Mistake(script, zero, 1.0)]
    assert [cluster.people for cluster in rest] == [["d"], ["b"]]


def test_nobody_to_compare_gives_no_groups(trained: Path) -> None:
    run = read_run(trained)
    assert annotator_clusters(replace(run, confusion=None)) == []
    assert run.confusion is not None
    assert annotator_clusters(replace(run, people=run.people[:1], confusion=run.confusion[:1])) == []
    idle = [person._replace(labels=0) for person in run.people]
    assert annotator_clusters(replace(run, people=idle)) == []

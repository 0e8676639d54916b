from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from truelabel.data import Dataset, fashion_mnist, mnist
from truelabel.experiments.stand_ins.idx import write_fashion_mnist, write_mnist


@pytest.mark.parametrize(("write", "read"), [(write_mnist, mnist), (write_fashion_mnist, fashion_mnist)])
def test_the_reader_reads_it_and_it_can_be_learned(
    tmp_path: Path, write: Callable[..., None], read: Callable[..., Dataset]
) -> None:
    write(tmp_path, 96, np.random.default_rng(0))
    train, test = read("train", tmp_path), read("test", tmp_path)
    assert (len(train), len(test)) == (96, 48)
    assert set(train.labels.tolist()) == set(test.labels.tolist()) == set(range(10))
    linear = RidgeClassifier().fit(train.scaled().reshape(96, -1), train.labels)
    assert linear.score(test.scaled().reshape(48, -1), test.labels) > 0.8

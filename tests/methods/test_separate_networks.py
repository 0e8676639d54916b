from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from truelabel import Annotations
from truelabel.learners import SeparateNetworks
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, clean_probs
from truelabel.training.run import split_of


def test_who_labelled_held_out_examples_alone_is_not_in_the_mean(short: Job) -> None:
    split, said = split_of(short), short.annotations.matrix()
    said[split.train.numpy(), 1] = -1
    job = replace(short, annotations=Annotations.from_matrix(said, classes=2))
    assert job.annotations.workload[1] == len(split.valid) > 0
    learner = learn(get_method("separate-networks"), job, Engine(device="cpu")).learner
    assert isinstance(learner, SeparateNetworks)
    inputs = torch.from_numpy(job.inputs)
    with torch.no_grad():
        each = learner.each(inputs).exp()
    expected = each[:, [0, 2, 3, 4]].mean(1)
    np.testing.assert_allclose(clean_probs(learner, inputs), expected, atol=1e-6)
    assert (expected - each.mean(1)).abs().max() > 0.01

"""Modules that turn a batch into losses and inputs into beliefs."""

from truelabel.learners.causal_nl import CausalNL, Elbo, ElboWeights
from truelabel.learners.classifier import Classifier, reduce_slots
from truelabel.learners.learner import Learner, ParameterGroups
from truelabel.learners.probabilistic_unet import ProbabilisticUNet
from truelabel.learners.separate_networks import SeparateNetworks

__all__ = [
    "CausalNL",
    "Classifier",
    "Elbo",
    "ElboWeights",
    "Learner",
    "ParameterGroups",
    "ProbabilisticUNet",
    "SeparateNetworks",
    "reduce_slots",
]

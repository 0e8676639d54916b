"""Modules that turn a batch into losses and inputs into beliefs."""

from truelabel.learners.causal_nl import CausalNL, Elbo, ElboWeights
from truelabel.learners.classifier import Classifier, reduce_slots
from truelabel.learners.learner import Learner, ParameterGroups

__all__ = ["CausalNL", "Classifier", "Elbo", "ElboWeights", "Learner", "ParameterGroups", "reduce_slots"]

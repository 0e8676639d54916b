"""Modules that turn a batch into losses and inputs into beliefs."""

from truelabel.learners.classifier import Classifier, reduce_slots
from truelabel.learners.learner import Learner, ParameterGroups

__all__ = ["Classifier", "Learner", "ParameterGroups", "reduce_slots"]

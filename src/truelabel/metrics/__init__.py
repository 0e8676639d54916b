"""Scores that torchmetrics and scikit-learn lack, agreement, and intervals: how sure one may be."""

from truelabel.metrics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from truelabel.metrics.dominance import undominated_classes
from truelabel.metrics.intervals import annotator_skill, confusion_interval, skill_interval
from truelabel.metrics.scores import accuracy, calibration_error, confusion_error, log_likelihood
from truelabel.metrics.statistics import TTest, bootstrap_interval, paired_t_test, significance, welch_t_test

__all__ = [
    "TTest",
    "accuracy",
    "annotator_skill",
    "bootstrap_interval",
    "calibration_error",
    "cohen_kappa",
    "confusion_error",
    "confusion_interval",
    "fleiss_kappa",
    "krippendorff_alpha",
    "log_likelihood",
    "paired_t_test",
    "significance",
    "skill_interval",
    "undominated_classes",
    "welch_t_test",
]

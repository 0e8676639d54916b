"""Scores that torchmetrics and scikit-learn lack, and tests of whether a difference is one."""

from truelabel.metrics.scores import accuracy, calibration_error, confusion_error, log_likelihood
from truelabel.metrics.statistics import TTest, bootstrap_interval, paired_t_test, significance, welch_t_test

__all__ = [
    "TTest",
    "accuracy",
    "bootstrap_interval",
    "calibration_error",
    "confusion_error",
    "log_likelihood",
    "paired_t_test",
    "significance",
    "welch_t_test",
]

"""Scores that torchmetrics and scikit-learn lack, agreement, and intervals: how sure one may be."""

from truelabel.metrics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from truelabel.metrics.dominance import undominated_classes
from truelabel.metrics.energy import batch_energy_distance, generalised_energy_distance
from truelabel.metrics.intervals import annotator_skill, confusion_interval, skill_interval
from truelabel.metrics.overlap import dice, iou, mean_iou
from truelabel.metrics.pixel_confusion import confusion_rmse, mean_confusion, reader_confusion
from truelabel.metrics.scores import accuracy, calibration_error, confusion_error, log_likelihood
from truelabel.metrics.statistics import TTest, bootstrap_interval, paired_t_test, significance, welch_t_test
from truelabel.metrics.surface import SurfaceDistance, surface_distance

__all__ = [
    "SurfaceDistance",
    "TTest",
    "accuracy",
    "annotator_skill",
    "batch_energy_distance",
    "bootstrap_interval",
    "calibration_error",
    "cohen_kappa",
    "confusion_error",
    "confusion_interval",
    "confusion_rmse",
    "dice",
    "fleiss_kappa",
    "generalised_energy_distance",
    "iou",
    "krippendorff_alpha",
    "log_likelihood",
    "mean_confusion",
    "mean_iou",
    "paired_t_test",
    "reader_confusion",
    "significance",
    "skill_interval",
    "surface_distance",
    "undominated_classes",
    "welch_t_test",
]

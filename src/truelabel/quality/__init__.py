"""Which labels are probably wrong, and which to ask for next."""

from truelabel.quality.ask import Questions, ask
from truelabel.quality.belief import label_quality, true_class_probs
from truelabel.quality.calibration import Calibration, calibration
from truelabel.quality.expected_information import expected_information
from truelabel.quality.folds import assign_folds, check_folds
from truelabel.quality.label_errors import LabelErrors, find_label_errors
from truelabel.quality.regions import Regions, mask_regions, pixel_belief
from truelabel.quality.suspects import Suspects, rank_suspects

__all__ = [
    "Calibration",
    "LabelErrors",
    "Questions",
    "Regions",
    "Suspects",
    "ask",
    "assign_folds",
    "calibration",
    "check_folds",
    "expected_information",
    "find_label_errors",
    "label_quality",
    "mask_regions",
    "pixel_belief",
    "rank_suspects",
    "true_class_probs",
]

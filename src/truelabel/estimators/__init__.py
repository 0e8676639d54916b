"""The scikit-learn face of the library."""

from truelabel.estimators.classifier import TrueLabelClassifier
from truelabel.estimators.segmenter import ErrorMaps, TrueLabelSegmenter, UncertaintyMaps

__all__ = ["ErrorMaps", "TrueLabelClassifier", "TrueLabelSegmenter", "UncertaintyMaps"]

"""The scikit-learn face of the library."""

from truelabel.estimators.classifier import TrueLabelClassifier

__all__ = ["TrueLabelClassifier"]

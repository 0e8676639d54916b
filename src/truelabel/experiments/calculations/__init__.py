"""What is calculated without a training, by name: an explicit dict."""

from truelabel.experiments.calculations.catalogue import CALCULATIONS, calculate

__all__ = ["CALCULATIONS", "calculate"]

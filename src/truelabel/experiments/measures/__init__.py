"""What is measured of a training, by name: an explicit dict."""

from truelabel.experiments.measures.accuracy import accuracy
from truelabel.experiments.measures.catalogue import MEASURES, measure_all
from truelabel.experiments.measures.measure import Measure, Outcome

__all__ = ["MEASURES", "Measure", "Outcome", "accuracy", "measure_all"]

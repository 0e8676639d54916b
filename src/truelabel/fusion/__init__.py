"""One answer from many, without a network."""

from truelabel.fusion.fused import Fused, confusion_from_posterior
from truelabel.fusion.given import posterior_given
from truelabel.fusion.majority import majority_vote

__all__ = ["Fused", "confusion_from_posterior", "majority_vote", "posterior_given"]

"""One answer from many, without a network."""

from truelabel.fusion.dawid_skene import dawid_skene
from truelabel.fusion.fused import Fused, confusion_from_posterior, expected_counts
from truelabel.fusion.given import posterior_given
from truelabel.fusion.glad import GladFused, glad
from truelabel.fusion.mace import MaceFused, mace
from truelabel.fusion.majority import majority_vote
from truelabel.fusion.one_coin import one_coin

__all__ = [
    "Fused",
    "GladFused",
    "MaceFused",
    "confusion_from_posterior",
    "dawid_skene",
    "expected_counts",
    "glad",
    "mace",
    "majority_vote",
    "one_coin",
    "posterior_given",
]

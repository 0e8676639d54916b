"""One answer from many, without a network."""

from truelabel.fusion.dawid_skene import dawid_skene
from truelabel.fusion.fused import Fused, confusion_from_posterior, expected_counts
from truelabel.fusion.given import posterior_given
from truelabel.fusion.glad import GladFused, glad
from truelabel.fusion.images import FuseMasks, fuse_images
from truelabel.fusion.mace import MaceFused, mace
from truelabel.fusion.majority import majority_vote
from truelabel.fusion.mask_counts import mask_counts
from truelabel.fusion.one_coin import one_coin
from truelabel.fusion.spatial_staple import SpatialFused, spatial_staple
from truelabel.fusion.staple import staple
from truelabel.fusion.vote_masks import vote_masks

__all__ = [
    "FuseMasks",
    "Fused",
    "GladFused",
    "MaceFused",
    "SpatialFused",
    "confusion_from_posterior",
    "dawid_skene",
    "expected_counts",
    "fuse_images",
    "glad",
    "mace",
    "majority_vote",
    "mask_counts",
    "one_coin",
    "posterior_given",
    "spatial_staple",
    "staple",
    "vote_masks",
]

"""All methods by name: an explicit dict."""

from __future__ import annotations

from truelabel.methods.annotator_confusion import OracleConfusion
from truelabel.methods.causal_nl import CausalNLMethod
from truelabel.methods.expectation_maximisation import MBEM, GeneralizedEM
from truelabel.methods.fusions import DawidSkene, Glad, Mace, OneCoin
from truelabel.methods.majority_vote import MajorityVote
from truelabel.methods.mask_fusions import MeanLabel, SpatialStaple, Staple
from truelabel.methods.method import Method
from truelabel.methods.mixup import MixupMethod
from truelabel.methods.noise_against_noise import NoiseAgainstNoiseMethod
from truelabel.methods.one_stage import ONE_STAGE
from truelabel.methods.peers import CoTeachingMethod, Decoupling, MentorNet
from truelabel.methods.pixelwise_confusion import PixelwiseConfusion, PixelwiseConfusionLowRank
from truelabel.methods.probabilistic_unet import ProbabilisticUNetMethod
from truelabel.methods.separate_networks import SeparateNetworksMethod
from truelabel.methods.transition import Forward, ReweightMethod, TRevision
from truelabel.methods.weighted_doctor_net import WeightedDoctorNet

METHODS: dict[str, Method] = {
    **ONE_STAGE,
    "mixup": MixupMethod(),
    "noise-against-noise": NoiseAgainstNoiseMethod(),
    "forward": Forward(),
    "reweight": ReweightMethod(),
    "t-revision": TRevision(),
    "co-teaching": CoTeachingMethod(),
    "decoupling": Decoupling(),
    "mentornet": MentorNet(),
    "causal-nl": CausalNLMethod(),
    "oracle-confusion": OracleConfusion(),
    "generalized-em": GeneralizedEM(),
    "mbem": MBEM(),
    "weighted-doctor-net": WeightedDoctorNet(),
    "majority-vote": MajorityVote(),
    "dawid-skene": DawidSkene(),
    "one-coin": OneCoin(),
    "glad": Glad(),
    "mace": Mace(),
    "mean-label": MeanLabel(),
    "staple": Staple(),
    "spatial-staple": SpatialStaple(),
    "pixelwise-confusion": PixelwiseConfusion(),
    "pixelwise-confusion-low-rank": PixelwiseConfusionLowRank(),
    "probabilistic-unet": ProbabilisticUNetMethod(),
    "separate-networks": SeparateNetworksMethod(),
}


def get_method(name: str) -> Method:
    """A method by its name, or an error that lists the names.

    Example:
        >>> get_method("majority-vote").with_options(ties="lowest").options()
        {'base': 'cross-entropy', 'soft': False, 'ties': 'lowest'}
    """
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}: choose from {', '.join(METHODS)}")
    return METHODS[name]

"""All methods by name: an explicit dict."""

from __future__ import annotations

from truelabel.methods.bi_tempered import BiTemperedMethod
from truelabel.methods.bootstrap import HardBootstrapMethod, SoftBootstrapMethod
from truelabel.methods.cross_entropy import CrossEntropyMethod
from truelabel.methods.generalized_cross_entropy import GeneralizedCrossEntropyMethod
from truelabel.methods.heteroscedastic import Heteroscedastic, HeteroscedasticFull, HeteroscedasticTemperature
from truelabel.methods.logistic_normal import LogisticNormalMethod
from truelabel.methods.majority_vote import MajorityVote
from truelabel.methods.method import Method
from truelabel.methods.mixup import MixupMethod
from truelabel.methods.noise_against_noise import NoiseAgainstNoiseMethod
from truelabel.methods.transition import Forward, ReweightMethod, TRevision

METHODS: dict[str, Method] = {
    "cross-entropy": CrossEntropyMethod(),
    "generalized-cross-entropy": GeneralizedCrossEntropyMethod(),
    "bi-tempered": BiTemperedMethod(),
    "soft-bootstrap": SoftBootstrapMethod(),
    "hard-bootstrap": HardBootstrapMethod(),
    "mixup": MixupMethod(),
    "noise-against-noise": NoiseAgainstNoiseMethod(),
    "forward": Forward(),
    "reweight": ReweightMethod(),
    "t-revision": TRevision(),
    "heteroscedastic": Heteroscedastic(),
    "heteroscedastic-temperature": HeteroscedasticTemperature(),
    "heteroscedastic-full": HeteroscedasticFull(),
    "logistic-normal": LogisticNormalMethod(),
    "majority-vote": MajorityVote(),
}


def get_method(name: str) -> Method:
    """A method by its name, or an error that lists the names.

    Example:
        >>> get_method("majority-vote").with_options(ties="lowest").options()
        {'ties': 'lowest'}
    """
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}: choose from {', '.join(METHODS)}")
    return METHODS[name]

"""Methods that only say what is trained: one network, one stage, the labels as they are.

Their learners can be peers, so that co-teaching of logistic-normal learners is a matter of a name.
"""

from __future__ import annotations

from truelabel.methods.annotator_confusion import AnnotatorConfusionMethod, SingleConfusion
from truelabel.methods.bi_tempered import BiTemperedMethod
from truelabel.methods.bootstrap import HardBootstrapMethod, SoftBootstrapMethod
from truelabel.methods.cross_entropy import CrossEntropyMethod
from truelabel.methods.generalized_cross_entropy import GeneralizedCrossEntropyMethod
from truelabel.methods.heteroscedastic import Heteroscedastic, HeteroscedasticFull, HeteroscedasticTemperature
from truelabel.methods.logistic_normal import LogisticNormalMethod
from truelabel.methods.method import Method

ONE_STAGE: dict[str, Method] = {
    "cross-entropy": CrossEntropyMethod(),
    "generalized-cross-entropy": GeneralizedCrossEntropyMethod(),
    "bi-tempered": BiTemperedMethod(),
    "soft-bootstrap": SoftBootstrapMethod(),
    "hard-bootstrap": HardBootstrapMethod(),
    "heteroscedastic": Heteroscedastic(),
    "heteroscedastic-temperature": HeteroscedasticTemperature(),
    "heteroscedastic-full": HeteroscedasticFull(),
    "logistic-normal": LogisticNormalMethod(),
    "annotator-confusion": AnnotatorConfusionMethod(),
    "single-confusion": SingleConfusion(),
}


def check_base(base: str) -> None:
    """Raise a one-line ValueError if no method of a single stage has this name."""
    if base not in ONE_STAGE:
        raise ValueError(f"base must be one of {', '.join(ONE_STAGE)}, got {base!r}")

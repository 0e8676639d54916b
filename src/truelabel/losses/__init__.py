"""What a label costs. Each loss is a :class:`Loss` for learners and a function of logits for one's own loop."""

from truelabel.losses.bootstrap import HardBootstrap, SoftBootstrap, hard_bootstrap, soft_bootstrap
from truelabel.losses.cross_entropy import CrossEntropy, cross_entropy
from truelabel.losses.generalized_cross_entropy import GeneralizedCrossEntropy, generalized_cross_entropy
from truelabel.losses.loss import Loss, from_logits, require_probabilities
from truelabel.losses.reweight import Reweight, reweight
from truelabel.losses.tempered import BiTempered, bi_tempered, tempered_softmax

__all__ = [
    "BiTempered",
    "CrossEntropy",
    "GeneralizedCrossEntropy",
    "HardBootstrap",
    "Loss",
    "Reweight",
    "SoftBootstrap",
    "bi_tempered",
    "cross_entropy",
    "from_logits",
    "generalized_cross_entropy",
    "hard_bootstrap",
    "require_probabilities",
    "reweight",
    "soft_bootstrap",
    "tempered_softmax",
]

"""What a label costs. Each loss is a :class:`Loss` for learners and a function of logits for one's own loop."""

from truelabel.losses.cross_entropy import CrossEntropy, cross_entropy
from truelabel.losses.loss import Loss, from_logits, require_probabilities

__all__ = ["CrossEntropy", "Loss", "cross_entropy", "from_logits", "require_probabilities"]

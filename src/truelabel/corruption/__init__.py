"""How labels go wrong, simulated, with the truth kept for scoring."""

from truelabel.corruption.annotators import hammer_spammers, pairwise_flippers
from truelabel.corruption.corruption import ConfusedAnnotators, Corruption
from truelabel.corruption.symmetric import symmetric

__all__ = ["ConfusedAnnotators", "Corruption", "hammer_spammers", "pairwise_flippers", "symmetric"]

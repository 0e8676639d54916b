"""How labels go wrong, simulated, with the truth kept for scoring."""

from truelabel.corruption.annotators import (
    cifar10_annotators,
    hammer_spammers,
    pairwise_flippers,
    perturbed_skills,
)
from truelabel.corruption.asymmetric import CIFAR10_MAP, CIFAR100_MAP, MNIST_MAP, asymmetric
from truelabel.corruption.class_dependent import class_dependent
from truelabel.corruption.corruption import ConfusedAnnotators, Corruption
from truelabel.corruption.instance_dependent import InstanceDependent
from truelabel.corruption.symmetric import symmetric

__all__ = [
    "CIFAR10_MAP",
    "CIFAR100_MAP",
    "MNIST_MAP",
    "ConfusedAnnotators",
    "Corruption",
    "InstanceDependent",
    "asymmetric",
    "cifar10_annotators",
    "class_dependent",
    "hammer_spammers",
    "pairwise_flippers",
    "perturbed_skills",
    "symmetric",
]

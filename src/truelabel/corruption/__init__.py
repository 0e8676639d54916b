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
from truelabel.corruption.edges import BlocksDropped, EdgeAdded, EdgeRemoved
from truelabel.corruption.fracture import Fracture
from truelabel.corruption.instance_dependent import InstanceDependent
from truelabel.corruption.label_maps import GreyDilation, GreyErosion, Relabelling
from truelabel.corruption.mask_readers import MaskReaders
from truelabel.corruption.reader import Blank, Chain, Faithful, Reader
from truelabel.corruption.reader_groups import digit_readers, lesion_readers, tumour_readers
from truelabel.corruption.strength import strength_for_dice
from truelabel.corruption.strokes import Thickening, Thinning
from truelabel.corruption.swelling import Swelling
from truelabel.corruption.symmetric import symmetric
from truelabel.corruption.true_mask import TrueMask

__all__ = [
    "CIFAR10_MAP",
    "CIFAR100_MAP",
    "MNIST_MAP",
    "Blank",
    "BlocksDropped",
    "Chain",
    "ConfusedAnnotators",
    "Corruption",
    "EdgeAdded",
    "EdgeRemoved",
    "Faithful",
    "Fracture",
    "GreyDilation",
    "GreyErosion",
    "InstanceDependent",
    "MaskReaders",
    "Reader",
    "Relabelling",
    "Swelling",
    "Thickening",
    "Thinning",
    "TrueMask",
    "asymmetric",
    "cifar10_annotators",
    "class_dependent",
    "digit_readers",
    "hammer_spammers",
    "lesion_readers",
    "pairwise_flippers",
    "perturbed_skills",
    "strength_for_dice",
    "symmetric",
    "tumour_readers",
]

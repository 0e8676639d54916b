"""What happens to a batch before the learner sees it."""

from truelabel.transforms.augment import AUGMENTATIONS, HorizontalFlip, Moves, RandomCrop, augmentation, augmentations
from truelabel.transforms.mixup import Mixup
from truelabel.transforms.noise_against_noise import NoiseAgainstNoise
from truelabel.transforms.patch import RandomPatch
from truelabel.transforms.transform import Transform

__all__ = [
    "AUGMENTATIONS",
    "HorizontalFlip",
    "Mixup",
    "Moves",
    "NoiseAgainstNoise",
    "RandomCrop",
    "RandomPatch",
    "Transform",
    "augmentation",
    "augmentations",
]

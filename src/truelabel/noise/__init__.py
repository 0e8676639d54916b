"""How truth turns into what people say: heads that sit on a network's features."""

from truelabel.noise.model import NoiseModel
from truelabel.noise.none import NoNoise

__all__ = ["NoNoise", "NoiseModel"]

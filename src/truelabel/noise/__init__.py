"""How truth turns into what people say: heads that sit on a network's features."""

from truelabel.noise.anchors import estimate_transition
from truelabel.noise.annotator_confusion import AnnotatorConfusion, FixedConfusion
from truelabel.noise.doctor_heads import DoctorHeads
from truelabel.noise.gaussian_logits import GaussianLogits
from truelabel.noise.instance_confusion import InstanceConfusion
from truelabel.noise.logistic_normal import LogisticNormal
from truelabel.noise.model import NoiseModel
from truelabel.noise.none import NoNoise
from truelabel.noise.tempered_head import TemperedHead
from truelabel.noise.transition import Transition
from truelabel.types import Uncertainty

__all__ = [
    "AnnotatorConfusion",
    "DoctorHeads",
    "FixedConfusion",
    "GaussianLogits",
    "InstanceConfusion",
    "LogisticNormal",
    "NoNoise",
    "NoiseModel",
    "TemperedHead",
    "Transition",
    "Uncertainty",
    "estimate_transition",
]

"""Networks: modules from inputs to features, without a class head. Any torch module is welcome."""

from truelabel.networks.catalogue import NETWORKS, Shape, build, check_network
from truelabel.networks.cnn import CollierCNN, TannoCNN
from truelabel.networks.lenet import LeNet5
from truelabel.networks.mlp import MLP
from truelabel.networks.network import Adapted, Network, adapt
from truelabel.networks.resnet import ResNet, Stem, resnet18, resnet34, resnet50
from truelabel.networks.standardised import Standardised
from truelabel.networks.trunk import Trunk
from truelabel.networks.unet import UNet
from truelabel.networks.wide_resnet import WideResNet

__all__ = [
    "MLP",
    "NETWORKS",
    "Adapted",
    "CollierCNN",
    "LeNet5",
    "Network",
    "ResNet",
    "Shape",
    "Standardised",
    "Stem",
    "TannoCNN",
    "Trunk",
    "UNet",
    "WideResNet",
    "adapt",
    "build",
    "check_network",
    "resnet18",
    "resnet34",
    "resnet50",
]

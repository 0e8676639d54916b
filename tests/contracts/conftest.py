"""Every component of the library, one line each; the tests beside this file run on every line.

To add a component, add its line to the table of its concept. A key is the public name of the component, followed by a
space and a few words if there are several variants of it: ``"symmetric"``, ``"symmetric flip"``. A public name that is
in no table and not among ``NOT_COMPONENTS`` fails ``test_complete.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from truelabel.annotations import Annotations
from truelabel.corruption import (
    ConfusedAnnotators,
    Corruption,
    InstanceDependent,
    asymmetric,
    class_dependent,
    hammer_spammers,
    pairwise_flippers,
    symmetric,
)
from truelabel.fusion import Fused, dawid_skene, glad, mace, majority_vote, one_coin
from truelabel.learners import CausalNL, Classifier, Learner, ProbabilisticUNet, SeparateNetworks
from truelabel.losses import (
    BiTempered,
    CrossEntropy,
    GeneralizedCrossEntropy,
    HardBootstrap,
    Loss,
    Reweight,
    SoftBootstrap,
)
from truelabel.methods import METHODS, Method
from truelabel.networks import Network, Trunk, UNet, build
from truelabel.noise import (
    AnnotatorConfusion,
    DoctorHeads,
    FixedConfusion,
    GaussianLogits,
    InstanceConfusion,
    LogisticNormal,
    NoiseModel,
    NoNoise,
    TemperedHead,
    Transition,
)
from truelabel.selection import CoTeaching, Disagreement, KeepAll, Selector, SelfPaced
from truelabel.transforms import HorizontalFlip, Mixup, Moves, NoiseAgainstNoise, RandomCrop, RandomPatch, Transform
from truelabel.types import MISSING, Batch

Units = tuple[int, ...]
Shape = tuple[int, ...]

UNITS: tuple[Units, ...] = ((7,), (3, 4, 5))
"""Seven examples, and three images of 4 x 5 pixels."""

# No two of these and of UNITS are equal, so that an axis taken for another one shows.
SLOTS, CHANNELS, CLASSES, ANNOTATORS, FEATURES = 2, 10, 6, 8, 9

# Features F, classes K, annotators R -> noise model.
NOISE_MODELS: dict[str, Callable[[int, int, int], NoiseModel]] = {
    "GaussianLogits": lambda features, classes, annotators: GaussianLogits(
        features, classes, samples=20, prediction_samples=20
    ),
    "GaussianLogits low rank": lambda features, classes, annotators: GaussianLogits(
        features, classes, temperature=0.5, factors=2, samples=20, prediction_samples=20
    ),
    "LogisticNormal": lambda features, classes, annotators: LogisticNormal(features, classes),
    "LogisticNormal without dummy": lambda features, classes, annotators: LogisticNormal(
        features, classes, dummy=False
    ),
    "LogisticNormal diagonal": lambda features, classes, annotators: LogisticNormal(
        features, classes, covariance="diagonal"
    ),
    "LogisticNormal isotropic": lambda features, classes, annotators: LogisticNormal(
        features, classes, covariance="isotropic"
    ),
    "LogisticNormal identity": lambda features, classes, annotators: LogisticNormal(
        features, classes, covariance="identity"
    ),
    "AnnotatorConfusion": AnnotatorConfusion,
    "AnnotatorConfusion one for all": lambda features, classes, annotators: AnnotatorConfusion(features, classes, 1),
    "AnnotatorConfusion many": lambda features, classes, annotators: AnnotatorConfusion(features, classes, 1000),
    "AnnotatorConfusion low rank": lambda features, classes, annotators: AnnotatorConfusion(
        features, classes, annotators, rank=2
    ),
    "AnnotatorConfusion shrunk": lambda features, classes, annotators: AnnotatorConfusion(
        features, classes, annotators, shrinkage=1.0, trace=0.0
    ),
    "AnnotatorConfusion by input": lambda features, classes, annotators: AnnotatorConfusion(
        features, classes, annotators, shrinkage=0.5, by_input=True
    ),
    "DoctorHeads": DoctorHeads,
    "DoctorHeads averaging": lambda features, classes, annotators: DoctorHeads(
        features, classes, annotators, averaging=True
    ),
    "FixedConfusion": lambda features, classes, annotators: FixedConfusion(
        features, classes, symmetric(classes, 0.3).expand(annotators, -1, -1)
    ),
    "InstanceConfusion": InstanceConfusion,
    "InstanceConfusion low rank": lambda features, classes, annotators: InstanceConfusion(
        features, classes, annotators, rank=2, trunk=Trunk(features, blocks=1, dims=0)
    ),
    "NoNoise": lambda features, classes, annotators: NoNoise(features, classes),
    "TemperedHead": lambda features, classes, annotators: TemperedHead(features, classes, temperature=2.0),
    "Transition": lambda features, classes, annotators: Transition(features, classes, symmetric(classes, 0.3)),
    "Transition revised": lambda features, classes, annotators: Transition(
        features, classes, symmetric(classes, 0.3), revise=True
    ),
}

LOSSES: dict[str, Loss] = {
    "BiTempered": BiTempered(0.7, 2.0),
    "CrossEntropy": CrossEntropy(),
    "GeneralizedCrossEntropy": GeneralizedCrossEntropy(0.7),
    "HardBootstrap": HardBootstrap(0.8),
    "Reweight": Reweight(attached=True),
    "SoftBootstrap": SoftBootstrap(0.95),
}
TAKES_DENSITY = {"CrossEntropy"}
"""Losses that are proper for a density too; all others must refuse one."""

# Shape of one input, (C,) or (C, H, W), classes K, annotators R -> learner for that shape.
LEARNERS: dict[str, Callable[[Shape, int, int], Learner]] = {
    "CausalNL": lambda shape, classes, annotators: CausalNL(trunk(shape), classes, shape, latent=2),
    "CausalNL exact": lambda shape, classes, annotators: CausalNL(
        trunk(shape), classes, shape, latent=2, reconstruction="squared", relaxation="exact"
    ),
    "CausalNL straight-through": lambda shape, classes, annotators: CausalNL(
        trunk(shape), classes, shape, latent=1, relaxation="straight-through"
    ),
    "Classifier": lambda shape, classes, annotators: Classifier(trunk(shape), NoNoise(8, classes), CrossEntropy()),
    "ProbabilisticUNet": lambda shape, classes, annotators: ProbabilisticUNet(
        trunk(shape), classes, shape, latent=2, samples=3, masks="all", width=4
    ),
    "ProbabilisticUNet one mask": lambda shape, classes, annotators: ProbabilisticUNet(
        trunk(shape), classes, shape, latent=2, samples=3, width=4
    ),
    "SeparateNetworks": lambda shape, classes, annotators: SeparateNetworks(
        [trunk(shape) for _ in range(annotators)], classes
    ),
}

SELECTORS: dict[str, Callable[[], Selector]] = {
    "CoTeaching": lambda: CoTeaching(0.4),
    "CoTeaching ramped": lambda: CoTeaching(0.6, ramp=0.7),
    "Disagreement": Disagreement,
    "KeepAll": KeepAll,
    "SelfPaced": lambda: SelfPaced(0.4, peers=2),
    "SelfPaced soft": lambda: SelfPaced(0.3, softness=0.5, burn_in=0.3, peers=2),
}

TRANSFORMS: dict[str, Callable[[], Transform]] = {
    "HorizontalFlip": HorizontalFlip,
    "Moves": lambda: Moves((HorizontalFlip(), RandomCrop(padding=2))),
    "Mixup": Mixup,
    "NoiseAgainstNoise": lambda: NoiseAgainstNoise(CLASSES),
    "RandomCrop": lambda: RandomCrop(padding=2),
    "RandomPatch": lambda: RandomPatch((2, 3)),
}

FUSIONS: dict[str, Callable[[Annotations], Fused]] = {
    "dawid_skene": dawid_skene,
    "dawid_skene without pseudo-counts": lambda annotations: dawid_skene(annotations, smoothing=0.0),
    "glad": glad,
    "mace": mace,
    "majority_vote": majority_vote,
    "one_coin": one_coin,
}
EVEN_PRIOR = {"glad", "mace"}
"""Fusions to whose model every class is equally probable beforehand, as in their papers; others learn the shares."""

# Annotators of six classes; their inputs, if they look at them, are (N, 9).
CORRUPTIONS: dict[str, Callable[[], Corruption]] = {
    "ConfusedAnnotators": lambda: ConfusedAnnotators(random_confusion()),
    "InstanceDependent": lambda: InstanceDependent(0.3, CLASSES),
    "asymmetric": lambda: ConfusedAnnotators(asymmetric(CLASSES, 0.4, {0: 2, 3: 5, 5: 3})),
    "class_dependent": lambda: ConfusedAnnotators(class_dependent([0.0, 0.1, 0.3, 0.5, 0.8, 1.0])),
    "ConfusedAnnotators some": lambda: ConfusedAnnotators(random_confusion(), labels_per_example=(1, 3)),
    "ConfusedAnnotators unequal workload": lambda: ConfusedAnnotators(
        random_confusion(), labels_per_example=2, workload=[2, 3, 3, 4, 5]
    ),
    "hammer_spammers": lambda: ConfusedAnnotators(hammer_spammers(CLASSES, [1.0, 0.6, 1 / CLASSES])),
    "hammer_spammers redraw": lambda: ConfusedAnnotators(hammer_spammers(CLASSES, [0.9, 0.0], kind="redraw")),
    "pairwise_flippers": lambda: ConfusedAnnotators(
        pairwise_flippers(CLASSES, [0.9, 0.3], torch.Generator().manual_seed(2))
    ),
    "pairwise_flippers dominant": lambda: ConfusedAnnotators(
        pairwise_flippers(CLASSES, [0.4, 0.4, 0.3], torch.Generator().manual_seed(2), dominant=True)
    ),
    "symmetric": lambda: ConfusedAnnotators(symmetric(CLASSES, 0.4)),
    "symmetric flip": lambda: ConfusedAnnotators(symmetric(CLASSES, 0.4, kind="flip")),
}

# Network -> shape of one input that exercises it at little cost.
NETWORKS: dict[str, Shape] = {
    "auto": (6,),
    "mlp": (3, 4),
    "lenet-5": (1, 9, 12),
    "tanno-cnn": (2, 9, 6),
    "collier-cnn": (1, 28, 29),
    "resnet-18": (3, 9, 8),
    "resnet-34": (1, 9, 8),
    "resnet-50": (3, 9, 9),
    "resnet-18-imagenet": (1, 28, 28),
    "resnet-34-imagenet": (3, 32, 32),
    "resnet-50-imagenet": (3, 32, 32),
    "wrn-28-2": (3, 8, 9),
    "wrn-28-2-cifar": (3, 8, 9),
    "unet": (2, 9, 14),
}

# Method -> options with which it runs in a tenth of a second on sixty examples.
METHOD_OPTIONS: dict[str, dict[str, Any]] = {
    "annotator-confusion": {},
    "bi-tempered": {},
    "causal-nl": {"latent": 2, "warm_up": 1},
    "co-teaching": {"warm_up": 1},
    "cross-entropy": {},
    "dawid-skene": {},
    "decoupling": {},
    "forward": {"warm_up": 1},
    "generalized-cross-entropy": {},
    "generalized-em": {"rounds": 2},
    "glad": {},
    "hard-bootstrap": {},
    "heteroscedastic": {"samples": 10, "prediction_samples": 10},
    "heteroscedastic-full": {"samples": 10, "prediction_samples": 10},
    "heteroscedastic-temperature": {"samples": 10, "prediction_samples": 10},
    "logistic-normal": {},
    "mace": {"restarts": 2},
    "majority-vote": {},
    "mbem": {"rounds": 2},
    "mean-label": {},
    "mentornet": {"warm_up": 1},
    "mixup": {},
    "noise-against-noise": {},
    "one-coin": {},
    "oracle-confusion": {"confusion": symmetric(3, 0.3)},
    "pixelwise-confusion": {"encoder": "separate", "blocks": 1},
    "pixelwise-confusion-low-rank": {"warm_up": 0},
    "probabilistic-unet": {"latent": 2, "samples": 2},
    "reweight": {"warm_up": 1},
    "separate-networks": {},
    "single-confusion": {},
    "soft-bootstrap": {},
    "spatial-staple": {"window": 3},
    "staple": {},
    "t-revision": {"warm_up": 1, "revision_rate": 1e-3},
    "weighted-doctor-net": {"weight_epochs": 1},
}

ONLY_UNITS: dict[str, tuple[Units, ...]] = {
    "CausalNL": ((7,),),
    "CausalNL exact": ((7,),),
    "CausalNL straight-through": ((7,),),
    "HorizontalFlip": ((3, 4, 5),),
    "Moves": ((3, 4, 5),),
    "ProbabilisticUNet": ((3, 4, 5),),
    "ProbabilisticUNet one mask": ((3, 4, 5),),
    "RandomCrop": ((3, 4, 5),),
    "RandomPatch": ((3, 4, 5),),
}
"""Components that know one kind of units only."""

NOT_COMPONENTS: dict[str, set[str]] = {
    "noise": {"NoiseModel", "Uncertainty", "estimate_transition"},
    "losses": {"Loss", "from_logits", "require_probabilities", "tempered_softmax"},
    "learners": {"Elbo", "ElboWeights", "Learner", "ParameterGroups", "reduce_slots"},
    "selection": {"Selector", "mean_over"},
    "transforms": {"AUGMENTATIONS", "Transform", "augmentation", "augmentations"},
    "fusion": {
        "FuseMasks",
        "Fused",
        "GladFused",
        "MaceFused",
        "SpatialFused",
        "confusion_from_posterior",
        "expected_counts",
        "fuse_images",
        "mask_counts",
        "posterior_given",
        "spatial_staple",
        "staple",
        "vote_masks",
    },
    "corruption": {
        "Blank",
        "BlocksDropped",
        "CIFAR10_MAP",
        "CIFAR100_MAP",
        "Chain",
        "Corruption",
        "EdgeAdded",
        "EdgeRemoved",
        "Faithful",
        "Fracture",
        "GreyDilation",
        "GreyErosion",
        "MNIST_MAP",
        "MaskReaders",
        "Reader",
        "Relabelling",
        "Swelling",
        "Thickening",
        "Thinning",
        "TrueMask",
        "cifar10_annotators",
        "digit_readers",
        "lesion_readers",
        "perturbed_skills",
        "strength_for_dice",
        "tumour_readers",
    },
}
"""Public names of each package that no table needs to hold."""

TABLES: dict[str, Mapping[str, object]] = {
    "noise": NOISE_MODELS,
    "losses": LOSSES,
    "learners": LEARNERS,
    "selection": SELECTORS,
    "transforms": TRANSFORMS,
    "fusion": FUSIONS,
    "corruption": CORRUPTIONS,
}

_NAMES: dict[str, Mapping[str, object]] = {
    "noise_name": NOISE_MODELS,
    "loss_name": LOSSES,
    "learner_name": LEARNERS,
    "selector_name": SELECTORS,
    "transform_name": TRANSFORMS,
    "fusion_name": FUSIONS,
    "corruption_name": CORRUPTIONS,
    "network_name": NETWORKS,
    "method_name": METHODS,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a component on every line of its table, and on all units that it knows."""
    arguments = [name for name in _NAMES if name in metafunc.fixturenames]
    axes: list[list[Any]] = [list(_NAMES[name]) for name in arguments]
    cases = list(itertools.product(*axes))
    if "units" in metafunc.fixturenames:
        arguments.append("units")
        cases = [(*case, units) for case in cases for units in UNITS if _knows(case, units)]
    if arguments:
        ids = ["-".join(v if isinstance(v, str) else "x".join(map(str, v)) for v in case) for case in cases]
        metafunc.parametrize(arguments, cases, ids=ids)


def _knows(names: tuple[str, ...], units: Units) -> bool:
    return all(units in ONLY_UNITS.get(name, UNITS) for name in names)


def trunk(shape: Shape) -> Network:
    """A small network with eight features, for flat inputs or for images."""
    return build("mlp:8", shape) if len(shape) == 1 else UNet(shape[0], width=8, depth=2)


def random_confusion() -> Tensor:
    """Five annotators, each with their own confusion; some mistakes are never made."""
    generator = torch.Generator().manual_seed(1)
    cells = torch.rand(5, CLASSES, CLASSES, generator=generator, dtype=torch.double) ** 3
    cells = torch.where(cells < 0.05, 0.0, cells) + torch.eye(CLASSES, dtype=torch.double)
    return cells / cells.sum(-1, keepdim=True)


def in_general_position(module: nn.Module) -> None:
    """Move every parameter a little, because a start at zero can hide a missing path or a wrong axis."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))


@pytest.fixture(scope="session")
def public_names() -> dict[str, tuple[set[str], set[str]]]:
    """Of every package: the keys of its table, and the public names that need none."""
    return {package: (set(table), NOT_COMPONENTS[package]) for package, table in TABLES.items()}


@pytest.fixture(scope="session")
def network_names() -> set[str]:
    return set(NETWORKS)


@pytest.fixture(scope="session")
def method_names() -> set[str]:
    return set(METHOD_OPTIONS)


@pytest.fixture
def batch(units: Units) -> Batch:
    """Float64 inputs with labels in every state: example 0 has none, example 1 has all, others lack some."""
    n, *space = units
    given = torch.rand(n, SLOTS) < 0.6
    given[0], given[1] = False, True
    labels = torch.randint(CLASSES, (*units, SLOTS))
    here = given.view(n, *[1] * len(space), SLOTS).expand(labels.shape)
    if space:
        here = here & (torch.rand(labels.shape) < 0.8)
    annotators = torch.stack([torch.randperm(ANNOTATORS)[:SLOTS] for _ in range(n)])
    return Batch(
        torch.randn(n, CHANNELS, *space, dtype=torch.double),
        torch.where(here, labels, MISSING),
        torch.where(given, annotators, MISSING),
        0.5 + torch.rand(n, SLOTS, dtype=torch.double),
        None,
        torch.arange(n),
    )


@pytest.fixture
def features(units: Units) -> Tensor:
    return torch.randn(*units, FEATURES, dtype=torch.double)


@pytest.fixture
def make_noise(noise_name: str) -> Callable[[], NoiseModel]:
    """Builds the noise model anew, in float64, evaluation mode and general position."""

    def make() -> NoiseModel:
        model = NOISE_MODELS[noise_name](FEATURES, CLASSES, ANNOTATORS).double().eval()
        in_general_position(model)
        return model

    return make


@pytest.fixture
def loss(loss_name: str) -> Loss:
    return LOSSES[loss_name]


@pytest.fixture
def takes_density(loss_name: str) -> bool:
    return loss_name in TAKES_DENSITY


@pytest.fixture
def make_learner(learner_name: str, units: Units) -> Callable[[], Learner]:
    """Builds the learner anew, in float64, evaluation mode and general position."""

    def make() -> Learner:
        learner = LEARNERS[learner_name]((CHANNELS, *units[1:]), CLASSES, ANNOTATORS).double().eval()
        in_general_position(learner)
        return learner

    return make


@pytest.fixture
def make_combination(noise_name: str, loss: Loss, units: Units) -> Callable[[], Classifier]:
    """Builds a classifier from any noise model and any loss."""

    def make() -> Classifier:
        network = trunk((CHANNELS, *units[1:]))
        noise = NOISE_MODELS[noise_name](network.features, CLASSES, ANNOTATORS)
        learner = Classifier(network, noise, loss).double()
        in_general_position(learner)
        return learner

    return make


@pytest.fixture
def make_selector(selector_name: str) -> Callable[[], Selector]:
    return SELECTORS[selector_name]


@pytest.fixture
def make_transform(transform_name: str) -> Callable[[], Transform]:
    return TRANSFORMS[transform_name]


@pytest.fixture
def fuse(fusion_name: str) -> Callable[[Annotations], Fused]:
    return FUSIONS[fusion_name]


@pytest.fixture
def has_even_prior(fusion_name: str) -> bool:
    return fusion_name.split()[0] in EVEN_PRIOR


@pytest.fixture
def make_corruption(corruption_name: str) -> Callable[[], Corruption]:
    return CORRUPTIONS[corruption_name]


@pytest.fixture
def network_shape(network_name: str) -> Shape:
    return NETWORKS[network_name]


@pytest.fixture
def method(method_name: str) -> Method:
    """The method of the catalogue, with options that make it quick."""
    return METHODS[method_name].with_options(**METHOD_OPTIONS[method_name])


@pytest.fixture(scope="session")
def crowd() -> Annotations:
    """120 examples of three classes, seven annotators; the last 10 examples and the last annotator are silent.

    Classes and skills are unequal (half of the examples are of class 2); other examples have two to five labels.
    """
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1, 2], [20, 40, 60])[rng.permutation(120)]
    matrix = np.full((120, 7), MISSING)
    for annotator, skill in enumerate([0.95, 0.9, 0.85, 0.8, 0.7, 0.6]):
        wrong = (truth + rng.integers(1, 3, 120)) % 3
        matrix[:, annotator] = np.where(rng.random(120) < skill, truth, wrong)
    for row in matrix:
        row[rng.permutation(6)[rng.integers(2, 6) :]] = MISSING
    matrix[-10:] = MISSING
    return Annotations.from_matrix(matrix, classes=3)

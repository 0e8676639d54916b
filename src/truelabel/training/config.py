"""How to train: everything that a result depends on besides data, method and seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any, Literal, get_args

from truelabel.transforms import RandomPatch, augmentation
from truelabel.types import ChosenBy

Optimizer = Literal["adam", "adamw", "sgd"]
Schedule = Literal["constant", "step", "cosine"]
Select = Literal["best", "best-accuracy", "best-loss", "last"]
Precision = Literal["32-true", "bf16-mixed"]

HoldOut = Literal["random", "last"]

LATER: dict[str, object] = {"epsilon": 1e-8, "hold_out": "random"}
"""Settings that came after the first records and run folders, with the values that those had without saying so."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Settings of one training; they check themselves.

    Attributes:
        epochs: passes over the training examples.
        batch_size: examples a step, over all processes together; at most the number of training examples.
        optimizer: "adam", "adamw", or "sgd" with Nesterov momentum.
        learning_rate: of the network.
        noise_learning_rate: of the noise model's own parameters; the same if None, or more for confusion matrices,
            which would not get far enough in a short training.
        weight_decay: of the network; the noise model's own parameters get none.
        momentum: of "sgd".
        epsilon: of "adam" and "adamw", added to the root of the mean square of gradients; Keras has 1e-7. Where labels
            have been learned by heart and gradients are tiny, it decides how long steps are.
        schedule: "constant"; "step", times ``step_factor`` at each of ``step_epochs``; or "cosine" to zero.
        step_epochs: epochs (from 0) at which "step" steps.
        step_factor: what "step" multiplies by.
        validation: share of examples held out, with their noisy labels, to choose the epoch.
        hold_out: which: "random" ones, or the "last", where the order of examples says which belong together.
        patience: stop after this many epochs without a better validation score; never if None.
        select: keep the weights of the epoch that is best on the validation part, or of the "last". "best-accuracy" is
            the highest accuracy on its noisy labels, ties by lower loss; "best-loss" the lowest loss; "best" leaves
            that to the method: loss with confusion matrices, accuracy without.
        precision: "32-true", whose products are TF32 on a GPU while training, or "bf16-mixed" for products in bfloat16.
        augment: what is done to training images, in order: "crop" shifts by up to 4 pixels ("crop:2" by 2), "flip"
            mirrors half.
        patch: for masks: train on random patches of this size, and answer window by window; on whole images if None.

    Example:
        >>> TrainingConfig(epochs=100, optimizer="sgd", learning_rate=0.01).epochs
        100
        >>> TrainingConfig(validation=1.5)
        Traceback (most recent call last):
        ...
        ValueError: validation must lie in [0, 1), got 1.5
    """

    epochs: int = 50
    batch_size: int = 128
    optimizer: Optimizer = "adam"
    learning_rate: float = 1e-3
    noise_learning_rate: float | None = None
    weight_decay: float = 0.0
    momentum: float = 0.9
    epsilon: float = 1e-8
    schedule: Schedule = "constant"
    step_epochs: tuple[int, ...] = ()
    step_factor: float = 0.1
    validation: float = 0.1
    hold_out: HoldOut = "random"
    patience: int | None = None
    select: Select = "best"
    precision: Precision = "32-true"
    augment: tuple[str, ...] = ()
    patch: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, kind in (
            ("optimizer", Optimizer),
            ("schedule", Schedule),
            ("hold_out", HoldOut),
            ("select", Select),
            ("precision", Precision),
        ):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, got {getattr(self, name)!r}")
        for name in ("epochs", "batch_size"):
            if not _whole(getattr(self, name)) or getattr(self, name) < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {getattr(self, name)!r}")
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.patience is not None and (not _whole(self.patience) or self.patience < 1):
            raise ValueError(f"patience must be a whole number of at least 1, or None, got {self.patience!r}")
        for name in ("learning_rate", "noise_learning_rate", "epsilon", "step_factor"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, got {value!r}")
        for name in ("weight_decay", "momentum"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)!r}")
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation must lie in [0, 1), got {self.validation!r}")
        if self.patience is not None and not self.validation:
            raise ValueError("patience needs a validation part to judge by: set validation above 0")
        if self.schedule == "step" and not self.step_epochs:
            raise ValueError("schedule 'step' needs step_epochs, the epochs at which the learning rate falls")
        if self.patience is not None:
            object.__setattr__(self, "patience", int(self.patience))
        object.__setattr__(self, "step_epochs", tuple(int(epoch) for epoch in self.step_epochs))
        object.__setattr__(self, "augment", tuple(self.augment))
        if isinstance(self.patch, int):
            raise ValueError(f"patch must be (H, W) or (D, H, W), got {self.patch!r}")
        if self.patch is not None:
            object.__setattr__(self, "patch", RandomPatch(tuple(self.patch)).size)
        for name in self.augment:
            augmentation(name)  # which refuses what it does not know

    def to_json(self) -> dict[str, Any]:
        """Plain values, for run folders and names of records; what came later is left out as it was."""
        patch = None if self.patch is None else list(self.patch)
        plain = {**asdict(self), "step_epochs": list(self.step_epochs), "augment": list(self.augment), "patch": patch}
        return {name: value for name, value in plain.items() if (name, value) not in LATER.items()}

    @property
    def keeps_best(self) -> bool:
        """Whether the weights of the best epoch are kept, if examples are held out."""
        return self.select != "last"

    def chosen_by(self, own: ChosenBy) -> ChosenBy:
        """What the best epoch is chosen by, where a method's own choice is ``own``.

        Example:
            >>> TrainingConfig().chosen_by("loss"), TrainingConfig(select="best-accuracy").chosen_by("loss")
            ('loss', 'accuracy')
        """
        named: dict[Select, ChosenBy] = {"best-accuracy": "accuracy", "best-loss": "loss"}
        return named.get(self.select, own)


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)

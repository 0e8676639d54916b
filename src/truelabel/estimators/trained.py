"""What all estimators share: a method, a network, settings of the training, and a folder to be kept in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from truelabel.annotations import Annotations
from truelabel.estimators.seen import Seen
from truelabel.estimators.storage import class_array, load_estimator, save_estimator
from truelabel.learners import Learner
from truelabel.methods import Learned, Method, Trial, get_method, learn, search
from truelabel.training import Engine, History, Job, Logging, NetworkLike, TrainingConfig


class Trained(BaseEstimator):  # type: ignore[misc]
    """An estimator that a method of the catalogue trains; subclasses have its settings as parameters.

    Attributes:
        arrays: names of attributes that are arrays and kept with a fitted estimator.
    """

    arrays: ClassVar[tuple[str, ...]] = ("confusion_", "annotator_skill_")

    classes_: NDArray[Any]
    annotators_: NDArray[Any]
    confusion_: NDArray[np.float64]
    annotator_skill_: NDArray[np.float64]
    history_: History
    input_shape_: tuple[int, ...]
    method_: Method
    trials_: tuple[Trial, ...]
    notes_: dict[str, Any]
    learner_: Learner
    n_iter_: int
    seen_: Seen | None

    def save(self, folder: str | Path) -> None:
        """Write the fitted estimator to a folder: weights as safetensors, the rest as JSON, nothing pickled."""
        check_is_fitted(self)
        save_estimator(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, network: NetworkLike | None = None) -> Self:
        """Read what :meth:`save` wrote.

        Args:
            folder: where.
            network: the module or function that was passed as ``network``; not needed for names.
        """
        loaded: Self = load_estimator(cls, Path(folder), network)
        return loaded

    def training_config(self) -> TrainingConfig:
        """The settings of the training, checked."""
        return TrainingConfig(
            epochs=self.epochs,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            noise_learning_rate=self.noise_learning_rate,
            weight_decay=self.weight_decay,
            schedule=self.schedule,
            step_epochs=tuple(self.step_epochs),
            validation=self.validation,
            patience=self.patience,
            select=self.select,
            precision=self.precision,
            augment=tuple(self.augment),
            patch=getattr(self, "patch", None),
        )

    def described(self) -> dict[str, Any]:
        """What else is kept with a fitted estimator, as JSON has it."""
        return {} if self.seen_ is None else {"seen": {"said": self.seen_.said, "seed": self.seen_.seed}}

    def restored(self, note: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what :meth:`described` and :attr:`arrays` say."""
        for name in self.arrays:
            setattr(self, name, arrays[name])
        self.seen_ = Seen(arrays["seen"], **note["seen"]) if "seen" in note else None

    def kept_arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that are kept with a fitted estimator, by name."""
        seen = {} if self.seen_ is None else {"seen": self.seen_.rows}
        return {name: getattr(self, name) for name in self.arrays} | seen

    def _method(self) -> Method:
        return get_method(self.method) if isinstance(self.method, str) else self.method

    def _train(self, inputs: NDArray[Any], annotations: Annotations) -> Learned:
        """Carry out the method, or search its options, and keep what every estimator has."""
        method, config = self._method(), self.training_config()
        engine = Engine(device=self.device, processes=self.processes)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.seen_ = None
        job = Job(
            inputs,
            annotations,
            self.network,
            config,
            seed,
            folder=None if self.folder is None else Path(self.folder),
            logging=Logging(progress=self.verbose, tensorboard=self.tensorboard),
        )
        if isinstance(self.search, str) and self.search != "paper":
            raise ValueError(f"search must be 'paper' or a dict from options to values, got {self.search!r}")
        if self.search is None and self.trials is not None:
            raise ValueError("trials needs search, the options and values to try")
        if hasattr(self, "trials_"):
            del self.trials_
        if self.search is None:
            self.method_, learned = method, learn(method, job, engine)
        else:
            grid = None if self.search == "paper" else self.search
            searched = search(method, job, engine, grid=grid, trials=self.trials)
            self.method_, learned, self.trials_ = searched.method, searched.learned, searched.trials
        self.learner_, self.history_, self.notes_ = learned.learner, learned.history, dict(learned.notes)
        self.n_iter_ = len(learned.history.rows)
        self.classes_ = class_array(annotations.classes)
        self.annotators_ = annotations.annotators
        self.seen_ = Seen.of(inputs, annotations, seed)
        return learned

"""The scikit-learn face of the library."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from truelabel.annotations import Annotations
from truelabel.coding import class_names, name_array
from truelabel.estimators.inputs import Scaling, check_inputs, read_labels
from truelabel.estimators.out_of_fold import OutOfFold, trained_folds
from truelabel.estimators.seen import warn_of_seen
from truelabel.estimators.trained import Trained
from truelabel.fusion import confusion_from_posterior
from truelabel.methods import Grid, Learned, Method
from truelabel.metrics import annotator_skill, confusion_interval, skill_interval, undominated_classes
from truelabel.quality import Suspects, check_folds, label_quality, rank_suspects, true_class_probs
from truelabel.training import NetworkLike, clean_probs
from truelabel.training.config import Optimizer, Precision, Schedule, Select
from truelabel.training.engine import Device

Probabilities = NDArray[np.float64]

HELD_OUT = ("fold", "probs", "confusion")
"""What is kept of cross-validation."""


class TrueLabelClassifier(ClassifierMixin, Trained):  # type: ignore[misc]
    """A classifier that learns the true class from labels that may be wrong.

    Args:
        method: name in ``truelabel methods``, or a :class:`~truelabel.methods.Method` with options of one's own.
        network: "auto" (a multi-layer perceptron for feature vectors, a convolutional network for images), another
            name of ``truelabel.networks.NETWORKS``, any ``nn.Module`` that returns features or class maps, or a
            function from the shape of one example to such a module.
        epochs: passes over the training examples.
        batch_size: examples a step.
        optimizer: "adam", "adamw", or "sgd" with Nesterov momentum 0.9.
        learning_rate: of the network.
        noise_learning_rate: of the noise model's own parameters; by default the same, or for confusion matrices as much
            more as they need to get anywhere in a short training.
        weight_decay: of the network.
        schedule: "constant", "cosine", or "step" at ``step_epochs``.
        step_epochs: where "step" divides the learning rate by ten.
        search: choose the method's options on the noisy validation labels: "paper" for the grid of its paper, or a dict
            from options to values; nothing is searched if None.
        trials: let Optuna try so many combinations between the values of the grid, instead of all of them.
        validation: share of examples held out, with their noisy labels, to choose the epoch.
        patience: stop after so many epochs without a better validation score; never if None.
        select: keep the "last" epoch, or the best on the validation part: by its noisy labels' "best-accuracy" or
            "best-loss", or by what suits the method, "best".
        standardize: bring every feature of a table to mean 0 and variance 1; images are taken as they are.
        device: "auto" takes a GPU if there is one.
        processes: data-parallel processes, one device each.
        precision: "32-true" or "bf16-mixed".
        augment: what is done to training images: "crop" shifts them by up to 4 pixels ("crop:2" by 2),
            "flip" mirrors half of them.
        folder: keep the run there: checkpoints, metrics; a killed fit goes on from it.
        verbose: show a progress bar.
        tensorboard: with a folder, also log for TensorBoard.
        random_state: seed of everything random.

    Attributes:
        classes_: ``(K,)`` names of the classes.
        annotators_: ``(R,)`` names of the annotators.
        confusion_: ``(R, K, K)``, ``[annotator, true, observed]``: what the method learned, or else what follows from
            the labels given and the learned posterior; :meth:`confusion_interval` tells how sure it is.
        annotator_skill_: ``(R,)``, mean probability that an annotator's labels are right. It follows the confidence
            of the network: its order is safer than its level, which is too low after little training, and too high
            where the network has learned labels by heart.
        annotator_skill_interval_: ``(R, 2)``, 95 % interval of the skill, which takes the network for right.
        history_: one row of numbers an epoch.
        method_: the method with its options, those found by ``search`` included; ``trials_`` has all that were tried.
        out_of_fold_: what cross-validation said of the examples of the fit, once :meth:`label_quality` has asked it.
        notes_: what the result depends on besides: the noise rate that a method used, and whether it was given.
        learner_: the trained module.

    Example:
        >>> from sklearn.datasets import make_blobs
        >>> X, truth = make_blobs(300, centers=3, random_state=0, cluster_std=0.6)
        >>> said = np.column_stack([truth, truth, (truth + 1) % 3])  # the third annotator is always wrong
        >>> clf = TrueLabelClassifier(method="majority-vote", epochs=20, random_state=0).fit(X, said)
        >>> round(float((clf.predict(X) == truth).mean()), 1)
        1.0
        >>> clf.annotator_skill_.round(1).tolist()
        [1.0, 1.0, 0.0]
    """

    def __init__(
        self,
        method: str | Method = "cross-entropy",
        network: NetworkLike = "auto",
        *,
        epochs: int = 50,
        batch_size: int = 128,
        optimizer: Optimizer = "adam",
        learning_rate: float = 1e-3,
        noise_learning_rate: float | None = None,
        weight_decay: float = 0.0,
        schedule: Schedule = "constant",
        step_epochs: tuple[int, ...] = (),
        search: Literal["paper"] | Grid | None = None,
        trials: int | None = None,
        validation: float = 0.1,
        patience: int | None = None,
        select: Select = "best",
        standardize: bool = True,
        device: Device = "auto",
        processes: int = 1,
        precision: Precision = "32-true",
        augment: tuple[str, ...] = (),
        folder: str | Path | None = None,
        verbose: bool = False,
        tensorboard: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.method = method
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.noise_learning_rate = noise_learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.step_epochs = step_epochs
        self.search = search
        self.trials = trials
        self.validation = validation
        self.patience = patience
        self.select = select
        self.standardize = standardize
        self.device = device
        self.processes = processes
        self.precision = precision
        self.augment = augment
        self.folder = folder
        self.verbose = verbose
        self.tensorboard = tensorboard
        self.random_state = random_state

    arrays = ("confusion_", "annotator_skill_", "annotator_skill_interval_")
    annotator_skill_interval_: Probabilities
    scaling_: Scaling
    out_of_fold_: OutOfFold | None
    counted_: bool

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labels that may be wrong.

        Args:
            X: ``(N, F)`` features, or images ``(N, C, H, W)``, bytes or floats.
            y: ``(N,)`` labels; a matrix ``(N, R)`` of labels by R annotators with -1, NaN or None where there is none;
                or :class:`~truelabel.Annotations`.

        Returns:
            Itself.
        """
        self._method()
        self.training_config()
        inputs = check_inputs(self, X, reset=True)
        annotations = read_labels(y, len(inputs), type(self).__name__)
        annotations.check_trainable()
        return self._learn_from(inputs, annotations)

    def _learn_from(self, inputs: NDArray[Any], annotations: Annotations) -> Self:
        """Fit to what was checked; some annotators may have given no label."""
        self.input_shape_, self.out_of_fold_ = inputs.shape[1:], None
        self.scaling_ = Scaling.of(inputs, self.standardize)
        learned = self._train(self.scaling_(inputs), annotations)
        posterior = self._posterior(inputs)
        self.confusion_ = self._confusion(learned, annotations, posterior)
        quality = self._own_quality(annotations, posterior)
        self.annotator_skill_ = annotator_skill(annotations, quality)
        self.annotator_skill_interval_ = skill_interval(annotations, quality)
        return self

    def predict_proba(self, X: Any) -> Probabilities:
        """Probability of each class being the true one: ``(N, K)``."""
        check_is_fitted(self)
        return self._posterior(check_inputs(self, X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable true class: ``(N,)``."""
        best = self.predict_proba(X).argmax(-1)
        named: NDArray[Any] = self.classes_[best]
        return named

    def label_quality(self, X: Any, y: Any, *, folds: int = 5) -> Probabilities:
        r"""Probability that each label given is right, one per label in the order of the table of annotations.

        .. math:: p(y = \tilde y_l \mid x, \tilde y) \propto
            p(y = \tilde y_l \mid x) \prod_{m} T^{(r_m)}[\tilde y_l, \tilde y_m]

        The product runs over all labels of the example, the label itself included.

        A network knows the labels that it learned from by heart, wrong ones too. So where X and y are those of
        :meth:`fit`, p(y|x) and T come from cross-validation: the examples are held out in turn, and judged by an
        estimator of the same settings that was trained on the others. Matrices that the method does not learn are
        counted on what was said of held-out examples, those of other folds. This costs ``folds`` trainings, once; the
        estimator keeps what they said, and with ``folder`` they are kept in ``folder/folds``. New examples are judged
        by the fitted model.

        Args:
            X: as in :meth:`fit`.
            y: labels by the same annotators, as in :meth:`fit`.
            folds: in how many parts examples are held out; 0 for the fitted model itself, in-sample.

        Returns:
            ``(L,)``; sort it to find errors. For ``(N,)`` labels it is in the order of the rows.
        """
        annotations, belief = self._belief(X, y, folds)
        return label_quality(annotations, belief)

    def suspects(self, X: Any, y: Any, *, folds: int = 5, top: int | None = None) -> Suspects:
        """The labels that name another class than the most probable one, the least probable first.

        Args:
            X: as in :meth:`fit`.
            y: labels by the same annotators, as in :meth:`fit`.
            folds: as in :meth:`label_quality`.
            top: how many at most; all by default.
        """
        annotations, belief = self._belief(X, y, folds)
        return rank_suspects(annotations, belief, top)

    def true_class_proba(self, X: Any, y: Any, *, folds: int = 5) -> Probabilities:
        """Probability of each class being the true one given the input *and* all labels of the example: ``(N, K)``.

        Args:
            X: as in :meth:`fit`.
            y: labels by the same annotators, as in :meth:`fit`.
            folds: as in :meth:`label_quality`.
        """
        return self._belief(X, y, folds)[1]

    def confusion_interval(self, X: Any, y: Any, level: float = 0.95) -> Probabilities:
        """How sure each cell of ``confusion_`` is, given the labels that it was learned from.

        A Laplace approximation that takes the network for right; see :func:`~truelabel.metrics.confusion_interval`.

        Args:
            X: as in :meth:`fit`.
            y: as in :meth:`fit`.
            level: probability that an interval should cover its cell.

        Returns:
            ``(R, K, K, 2)``, lower and upper ends.
        """
        check_is_fitted(self)
        inputs = check_inputs(self, X, reset=False)
        annotations = self._same_annotators(y, len(inputs))
        return confusion_interval(annotations, self._posterior(inputs), self.confusion_, level, includes_labels=False)

    def described(self) -> dict[str, Any]:
        """Names of the features."""
        features = class_names(getattr(self, "feature_names_in_", np.empty(0, object)))
        return super().described() | {"features": features, "counted": self.counted_}

    def kept_arrays(self) -> dict[str, NDArray[Any]]:
        """Those of every estimator, the scaling of features, and what cross-validation said, if it was asked."""
        scaling = {"mean": self.scaling_.mean, "scale": self.scaling_.scale}
        held_out = {} if self.out_of_fold_ is None else vars(self.out_of_fold_)
        return super().kept_arrays() | scaling | {f"held_out.{name}": value for name, value in held_out.items()}

    def restored(self, note: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what was kept."""
        super().restored(note, arrays)
        self.scaling_ = Scaling(arrays["mean"], arrays["scale"])
        self.counted_ = bool(note.get("counted", True))
        held_out = {name: arrays[f"held_out.{name}"] for name in HELD_OUT if f"held_out.{name}" in arrays}
        self.out_of_fold_ = OutOfFold(**held_out) if held_out else None
        if len(self.input_shape_) == 1:
            self.n_features_in_ = self.input_shape_[0]
        if note["features"]:
            self.feature_names_in_ = name_array(note["features"])

    def _same_annotators(self, y: Any, examples: int) -> Annotations:
        annotations = read_labels(y, examples, type(self).__name__, classes=class_names(self.classes_))
        if list(annotations.annotators) != list(self.annotators_):
            raise ValueError("y names other annotators than those seen in fit: pass the same ones, in the same order")
        return annotations

    def _confusion(self, learned: Learned, annotations: Annotations, posterior: Probabilities) -> Probabilities:
        """What the method learned of the annotators, or else what its answers make of their labels."""
        self.counted_ = False
        if learned.confusion is not None:
            return learned.confusion.double().numpy()
        with torch.no_grad():
            own = learned.learner.annotator_confusion()
        if own is not None:
            matrices: Probabilities = own.double().cpu().numpy()
            matrices /= matrices.sum(-1, keepdims=True)
            _warn_of_undominated(matrices, annotations)
            if len(matrices) == len(annotations.annotators):
                return matrices
        # No matrices, or one for all, which tells nobody apart.
        self.counted_ = True
        return confusion_from_posterior(annotations, posterior)

    def _posterior(self, inputs: NDArray[Any]) -> Probabilities:
        learner = self.learner_
        # For vectors, double precision costs nothing and makes an answer independent of the batch it comes in. A
        # network of the user's own may insist on single precision.
        if inputs.ndim == 2 and isinstance(self.network, str) and next(learner.parameters()).device.type == "cpu":
            learner = copy.deepcopy(learner).double()
        device = next(learner.parameters()).device
        probs = clean_probs(learner, torch.from_numpy(self.scaling_(inputs)).to(device)).double().numpy()
        normalised: Probabilities = probs / probs.sum(-1, keepdims=True)
        return normalised

    def _own_quality(self, annotations: Annotations, posterior: Probabilities) -> Probabilities:
        """Probability that each label is right given the input and that label alone, which skill is the mean of."""
        said = annotations.label
        given = self.confusion_[annotations.annotator, :, said]
        joint = posterior[annotations.example] * given
        rows = np.arange(len(said))
        quality: Probabilities = joint[rows, said] / joint.sum(-1)
        return quality

    def _belief(self, X: Any, y: Any, folds: int) -> tuple[Annotations, Probabilities]:
        """What was said, and the probability of each class given the input and that, ``(N, K)``."""
        check_is_fitted(self)
        check_folds(folds)
        inputs = check_inputs(self, X, reset=False)
        annotations = self._same_annotators(y, len(inputs))
        held_out = self._held_out(inputs, annotations, folds) if folds else None
        if held_out is None:
            return annotations, true_class_probs(annotations, self._posterior(inputs), self.confusion_)
        return annotations, true_class_probs(annotations, held_out.probs, held_out.confusion, held_out.fold)

    def _held_out(self, inputs: NDArray[Any], annotations: Annotations, folds: int) -> OutOfFold | None:
        """What cross-validation says of the examples of the fit, found once; None if it cannot say anything."""
        if self.seen_ is None:
            return None
        scaled = self.scaling_(inputs)
        if self.seen_.same(scaled, annotations):
            if self.out_of_fold_ is None or self.out_of_fold_.folds != min(folds, len(inputs)):
                self.out_of_fold_ = self._cross_validated(inputs, annotations, folds)
            return self.out_of_fold_
        places = self.seen_.places(scaled)
        if self.out_of_fold_ is None or (places < 0).all():
            warn_of_seen(places)
            return None
        return self.out_of_fold_.at(places, self._posterior(inputs), self.confusion_)

    def _cross_validated(self, inputs: NDArray[Any], annotations: Annotations, folds: int) -> OutOfFold:
        probs = np.empty((len(inputs), len(self.classes_)))
        fold = np.empty(len(inputs), np.int64)
        matrices: list[Probabilities] = []
        for own, held in trained_folds(self, inputs, annotations, folds):
            probs[held], fold[held] = own._posterior(inputs[held]), len(matrices)
            matrices.append(own.confusion_)
        if self.counted_:
            # What a network makes of labels that it knows by heart says that nobody errs: count on unseen ones.
            parts = (np.flatnonzero(fold != number) for number in range(len(matrices)))
            matrices = [confusion_from_posterior(annotations.take(part), probs[part]) for part in parts]
        return OutOfFold(fold, probs, np.stack(matrices))


def _warn_of_undominated(confusion: Probabilities, annotations: Annotations) -> None:
    """Tell of the classes that Theorem 1 of Tanno 2019 does not speak for."""
    weights = annotations.workload if len(confusion) > 1 else None
    classes = [annotations.classes[k] for k in undominated_classes(confusion, weights)]
    if classes:
        names = ", ".join(map(str, classes[:10])) + (", …" if len(classes) > 10 else "")
        warnings.warn(
            f"the mean confusion matrix is not diagonally dominant for classes {names}: their confusion may not be "
            "identified; check some of their labels by hand, add annotators who know them, or lower trace",
            UserWarning,
            stacklevel=4,
        )

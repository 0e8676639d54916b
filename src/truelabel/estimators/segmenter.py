"""Segmentation from the masks of several readers, with the face of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.checks import check_whole
from truelabel.coding import class_names, is_missing
from truelabel.data.pictures import find_pictures
from truelabel.estimators.image_reading import RECORD, ImageReading, NewImages
from truelabel.estimators.images import check_images, differ, padded_masks, read_masks, space_axes
from truelabel.estimators.out_of_fold import trained_folds
from truelabel.estimators.seen import warn_of_seen
from truelabel.estimators.trained import Trained
from truelabel.fusion import confusion_from_posterior
from truelabel.methods import Grid, Learned, Method
from truelabel.metrics import dice
from truelabel.quality import Regions, check_folds, mask_regions, pixel_belief
from truelabel.training import NetworkLike, clean_probs, in_chunks
from truelabel.training.config import Optimizer, Precision, Schedule, Select
from truelabel.training.engine import Device
from truelabel.training.windows import check_overlap
from truelabel.types import MISSING

Array = NDArray[Any]
Maps = Array | list[Array]
"""Of all images, ``(N, ...)``; or a list, one for each, if images came in a list and differ in size."""


class ErrorMaps(NamedTuple):
    """How probable each kind of mistake of each reader is at each pixel; class 0 is the background.

    Attributes:
        over: ``(N, R, *space)``, background that the reader takes for something; a list of ``(R, *space)`` for a list.
        under: likewise, something that the reader takes for background.
        mixed: likewise, one thing taken for another; zero with two classes.
    """

    over: Maps
    under: Maps
    mixed: Maps


class UncertaintyMaps(NamedTuple):
    """How sure the answer is at each pixel.

    Attributes:
        variance: ``(N, K, *space)``, of the probability of each class; a list of ``(K, *space)`` for a list of images.
        entropy: ``(N, *space)``, of the answer, in nats; a list likewise.
    """

    variance: Maps
    entropy: Maps


class TrueLabelSegmenter(Trained):
    """A segmentation network that learns the true class of each pixel from the masks of readers who err.

    Args:
        method: name in ``truelabel methods`` of one for pixels, or a :class:`~truelabel.methods.Method` with options.
        network: "unet", in two dimensions or three, with its width as in "unet:32"; any ``nn.Module`` that returns maps
            of features ``(N, F, *space)``; or a function from the shape of one image to such a module.
        epochs: passes over the training images.
        batch_size: images a step.
        optimizer: "adam", "adamw", or "sgd" with Nesterov momentum 0.9.
        learning_rate: of the network.
        noise_learning_rate: of the parameters of confusion matrices; by default as they need.
        weight_decay: of the network.
        schedule: "constant", "cosine", or "step" at ``step_epochs``.
        step_epochs: where "step" divides the learning rate by ten.
        search: choose the method's options on the noisy validation masks: "paper", or a dict from options to values.
        trials: let Optuna try so many combinations between the values of the grid, instead of all of them.
        validation: share of images held out, with their noisy masks, to choose the epoch.
        patience: stop after so many epochs without a better validation score; never if None.
        select: keep the "last" epoch, or the best on the validation part: by its noisy labels' "best-accuracy" or
            "best-loss", or by what suits the method, "best".
        standardize: bring every channel of every image of floats to mean 0 and variance 1; bytes are taken as 0 to 1.
        patch: train on random patches of this size, ``(H, W)`` or ``(D, H, W)``, and answer window by window; for
            images that are too large to be taken whole.
        overlap: of windows, the share of one that the next covers again.
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
        classes_: ``(K,)`` names of the classes, the values in masks by default; the first is the background.
        annotators_: ``(R,)`` names of the readers.
        confusion_: ``(R, K, K)``, ``[reader, true, observed]``: the mean over pixels that somebody labelled of what the
            method learned, or else what follows from the masks given and the learned segmentation.
        annotator_skill_: ``(R,)``, mean over classes of the probability that the reader recognises them.
        history_: one row of numbers an epoch.
        method_: the method with its options, those found by ``search`` included; ``trials_`` has all that were tried.
        notes_: what the result depends on besides.
        learner_: the trained module.
        reading_: how `truelabel train` read and prepared the images, with its ``--size``, ``--normalise``,
            ``--spacing`` and ``--grey``; None after a ``fit`` of arrays. :meth:`read_images` reads others alike.

    Example:
        >>> from truelabel.data import discs
        >>> data = discs(24, (16, 16))
        >>> blank = np.zeros_like(data.labels)
        >>> seg = TrueLabelSegmenter("majority-vote", "unet:4", epochs=5, random_state=0)
        >>> seg = seg.fit(data.inputs, np.stack([data.labels, data.labels, blank], 1), ["ann", "bob", "idle"])
        >>> seg.predict_proba(data.inputs).shape
        (24, 2, 16, 16)
        >>> seg.annotator_skill_.round(1).tolist()[2]
        0.5
    """

    reading_: ImageReading | None
    found_: tuple[tuple[int, int], Regions] | None

    def __init__(
        self,
        method: str | Method = "pixelwise-confusion",
        network: NetworkLike = "unet",
        *,
        epochs: int = 50,
        batch_size: int = 8,
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
        patch: tuple[int, ...] | None = None,
        overlap: float = 0.5,
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
        self.patch = patch
        self.overlap = overlap
        self.device = device
        self.processes = processes
        self.precision = precision
        self.augment = augment
        self.folder = folder
        self.verbose = verbose
        self.tensorboard = tensorboard
        self.random_state = random_state

    def fit(self, images: Any, masks: Any, annotators: Any = None) -> Self:
        """Learn from masks that may be wrong.

        Args:
            images: ``(N, C, H, W)`` or ``(N, C, D, H, W)``, bytes or floats; ``(N, H, W)`` or, if masks are
                ``(N, R, D, H, W)``, ``(N, D, H, W)`` with one channel; or a list of images ``(C, *space)`` of
                different sizes, which are padded at their ends to the largest, without labels there.
            masks: ``(N, R, *space)``, a column for each reader, -1 or NaN where a pixel, or a whole mask, has no label;
                ``(N, *space)``, one mask an image; a list of ``(R, *space)`` for a list of images; or
                :class:`~truelabel.Annotations`.
            annotators: names of the R columns; or, for masks that are not in a column of their reader, ``(N,)`` or
                ``(N, S)``, who drew each.

        Returns:
            Itself.
        """
        check_overlap(self.overlap)
        method = self._method()
        if "segmentation" not in method.tasks:
            raise ValueError(f"{method.name} is for one class an example: choose a method for pixels")
        inputs, annotations = self._read(images, masks, annotators)
        annotations.check_trainable()
        return self._learn_from(inputs, annotations)

    def _read(self, images: Any, masks: Any, annotators: Any, classes: Any = None) -> tuple[Array, Annotations]:
        """Images ``(N, C, *space)`` as the network takes them, and what was drawn."""
        inputs = check_images(images, standardize=self.standardize, dims=space_axes(images, masks))
        space = inputs.shape[2:]
        masks = padded_masks(masks, images, space) if differ(masks) else masks
        return inputs, read_masks(masks, space, len(inputs), annotators, classes)

    def _learn_from(self, inputs: Array, annotations: Annotations) -> Self:
        """Fit to what was checked; some readers may have drawn nothing."""
        self.input_shape_ = inputs.shape[1:]
        self.reading_, self.found_ = None, None
        learned = self._train(inputs, annotations)
        self.confusion_ = self._confusion(learned, inputs, annotations)
        self.annotator_skill_ = self.confusion_.diagonal(axis1=1, axis2=2).mean(-1)
        return self

    def save(self, folder: str | Path) -> None:
        """Write the fitted segmenter to a folder, and how its images were read if they came from files."""
        check_is_fitted(self)
        if self.reading_ is None:
            (Path(folder) / RECORD).unlink(missing_ok=True)
        else:
            self.reading_.save(Path(folder))
        super().save(folder)

    @classmethod
    def load(cls, folder: str | Path, network: NetworkLike | None = None) -> Self:
        """Read what :meth:`save` or `truelabel train` wrote; :meth:`read_images` reads images as the run did.

        Args:
            folder: where.
            network: the module or function that was passed as ``network``; not needed for names.
        """
        loaded = super().load(folder, network)
        loaded.found_ = None
        loaded.reading_ = ImageReading.load(Path(folder)) if (Path(folder) / RECORD).exists() else None
        return loaded

    def read_images(self, source: str | Path) -> NewImages:
        """Read pictures or volumes as `truelabel predict` does, prepared as those that were learned from.

        After a ``fit`` of arrays they are read as they are stored. What was cropped for training is read whole.

        Args:
            source: a file, or a folder in any layout of :func:`truelabel.data.mask_folder`, with masks or without.
        """
        check_is_fitted(self)
        reading = self.reading_ or ImageReading()
        people = [str(name) for name in self.annotators_]
        pictures = find_pictures(Path(source), reading.images, people, reading.pattern).found
        channels, *space = self.input_shape_
        read = [reading.picture(picture.files, channels, len(space)) for picture in pictures]
        images = [image for image, _ in read]
        return NewImages(
            [picture.name for picture in pictures],
            images if differ(images) else np.stack(images),
            [geometry for _, geometry in read],
        )

    def predict_proba(self, images: Any) -> Any:
        """Probability of each class being the true one: ``(N, K, *space)``; a list of ``(K, *space)`` for a list."""
        return self._answer(images, self._posterior)

    def predict(self, images: Any) -> Any:
        """The most probable true class of each pixel: ``(N, *space)``; a list of these for a list of images."""

        def named(inputs: Array) -> Array:
            chosen: Array = self.classes_[self._posterior(inputs).argmax(1)]
            return chosen

        return self._answer(images, named)

    def annotator_proba(self, images: Any, annotators: Sequence[Any] | None = None) -> Any:
        r"""What each reader would say: probability of each class, ``(N, R, K, *space)``.

        .. math:: p(\tilde y^{(r)} = j \mid x) = \sum_k p_k\, T^{(r)}[k, j]

        T is that of :meth:`confusion_maps`; a method with a network for each reader asks that network instead.

        Args:
            images: as in :meth:`fit`.
            annotators: names of some readers, in the order wanted; all by default.
        """
        check_is_fitted(self)
        who = self._positions(annotators)
        matrices, each = self._matrices(who), getattr(self.learner_, "each", None)

        def said(values: Tensor) -> Tensor:
            if each is not None:
                log_probs: Tensor = each(values)
                return log_probs[..., who, :].exp()
            return torch.einsum("...k,...rkj->...rj", self.learner_.predict(values).clean.exp(), matrices(values))

        return self._answer(images, lambda inputs: np.moveaxis(self._maps(inputs, said), (-2, -1), (1, 2)))

    def confusion_maps(self, images: Any, annotators: Sequence[Any] | None = None) -> Any:
        """The confusion matrix of each reader at each pixel: ``(N, R, K, K, *space)``, ``[true, observed]``.

        A method without matrices for pixels has ``confusion_`` everywhere.
        """
        check_is_fitted(self)
        who = self._positions(annotators)
        return self._answer(
            images, lambda inputs: np.moveaxis(self._maps(inputs, self._matrices(who)), (-3, -2, -1), (1, 2, 3))
        )

    def error_maps(self, images: Any, annotators: Sequence[Any] | None = None) -> ErrorMaps:
        r"""How probable it is that a reader errs at a pixel, by the kind of mistake.

        .. math:: \text{over} = \sum_{j > 0} p_0 T[0, j], \quad \text{under} = \sum_{k > 0} p_k T[k, 0], \quad
            \text{mixed} = \sum_{k, j > 0,\, j \ne k} p_k T[k, j]
        """
        check_is_fitted(self)
        who = self._positions(annotators)
        matrices = self._matrices(who)

        def errors(values: Tensor) -> Tensor:
            joint = self.learner_.predict(values).clean.exp()[..., None, :, None] * matrices(values)
            over, under = joint[..., 0, 1:].sum(-1), joint[..., 1:, 0].sum(-1)
            wrong = joint.sum((-2, -1)) - joint.diagonal(dim1=-2, dim2=-1).sum(-1)
            return torch.stack([over, under, (wrong - over - under).clamp_min(0)], -1)

        maps = self._answer(images, lambda inputs: np.moveaxis(self._maps(inputs, errors), (-1, -2), (1, 2)))
        return ErrorMaps(*(_part(maps, kind) for kind in range(3)))

    def uncertainty(self, images: Any) -> UncertaintyMaps:
        r"""Variance and entropy of the answer at each pixel; see :meth:`truelabel.learners.Learner.uncertainty`.

        Where windows overlap, the answer is the mean of theirs, with weights w, and its draws are theirs, mixed:

        .. math:: p = \sum_i w_i p_i, \quad \text{entropy} = -\sum_k p_k \log p_k, \quad
            \text{variance} = \sum_i w_i (v_i + p_i^2) - p^2

        Windows that contradict each other are thus uncertain, however sure each is.
        """

        def moments(values: Tensor) -> Tensor:
            found = self.learner_.uncertainty(values)
            probs = found.probs.cpu().double()
            return torch.stack([probs, found.variance.cpu() + probs.square()], -1)

        def spread(inputs: Array) -> Array:
            probs, squares = np.moveaxis(self._maps(inputs, moments), (-1, -2), (0, 2))
            # Rounding may leave either just below zero.
            both = [squares - probs**2, entr(probs).sum(1, keepdims=True)]
            return np.concatenate(both, 1).clip(0)

        maps = self._answer(images, spread)
        return UncertaintyMaps(_part(maps, slice(-1)), _part(maps, -1))

    def sample(self, images: Any, count: int, seed: int = 0) -> Any:
        """Masks drawn from what readers may say, for methods that can draw: ``(count, N, *space)`` classes.

        Of a list of images of different sizes they are a list of ``(count, *space)``.
        """
        check_is_fitted(self)
        check_whole("count", count)
        draw = getattr(self.learner_, "sample", None)
        if draw is None:
            raise ValueError(f"{self.method_.name} draws no masks: use probabilistic-unet, or annotator_proba")

        def drawn(values: Tensor) -> Tensor:
            log_probs: Tensor = draw(values, count, torch.Generator().manual_seed(seed))
            return log_probs.argmax(-1).movedim(0, -1)

        def masks(inputs: Array) -> Array:
            chosen: Array = self.classes_[np.moveaxis(self._maps(inputs, drawn, whole=True), -1, 1)]
            return chosen

        found = self._answer(images, masks)
        return found if isinstance(found, list) else np.moveaxis(found, 1, 0)

    def suspect_regions(
        self, images: Any, masks: Any, annotators: Any = None, *, folds: int = 0, least: int = 1
    ) -> Regions:
        """Connected regions of masks in which a reader names another class than the most probable one.

        What is probable at a pixel follows from the image and all its masks; see :func:`truelabel.quality.pixel_belief`
        and :func:`truelabel.quality.mask_regions`.

        Args:
            images: as in :meth:`fit`.
            masks: by the same readers, as in :meth:`fit`.
            annotators: as in :meth:`fit`.
            folds: 0 for the fitted network itself. Otherwise, where images and masks are those of :meth:`fit`, they
                are held out in so many parts and judged by networks that were trained on the others, once; with
                ``folder`` these are kept in ``folder/folds``.
            least: pixels that a region must have.

        Returns:
            Positions of images, readers and classes; call its ``ranked()`` for the worst first.
        """
        check_is_fitted(self)
        check_folds(folds)
        inputs, annotations = self._read(images, masks, annotators, class_names(self.classes_))
        if list(annotations.annotators) != list(self.annotators_):
            raise ValueError("masks are by other readers than those of fit: pass the same ones, in the same order")
        everything = np.arange(len(inputs))
        if not folds or self.seen_ is None:
            return self._regions(inputs, annotations, everything, least)
        if not self.seen_.same(inputs, annotations):
            warn_of_seen(self.seen_.places(inputs))
            return self._regions(inputs, annotations, everything, least)
        if self.found_ is None or self.found_[0] != (folds, least):
            parts = [
                own._regions(inputs, annotations, held, least)
                for own, held in trained_folds(self, inputs, annotations, folds)
            ]
            self.found_ = ((folds, least), Regions.join(parts))
        return self.found_[1]

    def _regions(self, inputs: Array, annotations: Annotations, images: Array, least: int) -> Regions:
        """Those of the images at some places, one image at a time, since matrices of all pixels are large."""
        first = np.searchsorted(annotations.example, np.arange(len(inputs) + 1))
        parts = [Regions.nothing(inputs.ndim - 2)]
        for image in images:
            own = slice(first[image], first[image + 1])
            if own.start == own.stop:
                continue
            drawn, who = annotations.label[own], annotations.annotator[own]
            value = inputs[image : image + 1]
            probs = self._posterior(value)[0]
            matrices = np.moveaxis(self._maps(value, self._matrices(who.tolist()))[0], (-3, -2, -1), (0, 1, 2))
            belief = pixel_belief(drawn, probs, matrices)
            parts.append(mask_regions(drawn, belief, example=int(image), annotators=who, least=least))
        return Regions.join(parts)

    def score(self, images: Any, truth: Any) -> float:
        """Mean Dice of the foreground against true masks ``(N, *space)``, or a list of them; -1 where it is not known.

        See :func:`truelabel.metrics.dice`.
        """
        predicted = self._answer(images, lambda inputs: self._posterior(inputs).argmax(1))
        masks = [self._places(np.asarray(mask)) for mask in truth]
        return float(dice(predicted, masks, classes=len(self.classes_)).mean())

    def _places(self, mask: Array) -> NDArray[np.int64]:
        """Positions of the classes in a mask, -1 where it names none."""
        names = class_names(self.classes_)
        found, place = np.unique(mask, return_inverse=True)
        plain = [MISSING if is_missing(name, MISSING) else name for name in class_names(found)]
        unknown = [name for name in plain if name != MISSING and name not in names]
        if unknown:
            raise ValueError(
                f"truth has the value {unknown[0]!r}, but fit saw {', '.join(map(str, names))}: "
                "give it one of these, or -1 to leave it out"
            )
        codes = np.array([names.index(name) if name in names else MISSING for name in plain], np.int64)
        return codes[place].reshape(mask.shape)

    def _confusion(self, learned: Learned, inputs: Array, annotations: Any) -> NDArray[np.float64]:
        """Of each reader: what the method learned, or else what its answers make of the masks."""
        if learned.confusion is not None:
            return learned.confusion.double().numpy()
        with torch.no_grad():
            own = learned.learner.annotator_confusion()
        if own is not None and len(own) == len(annotations.annotators):
            own = own.double().cpu()
            return (own / own.sum(-1, keepdim=True)).numpy()
        return confusion_from_posterior(annotations, np.moveaxis(self._posterior(inputs), 1, -1))

    def _posterior(self, inputs: Array) -> Array:
        device = next(self.learner_.parameters()).device
        probs = clean_probs(
            self.learner_, torch.from_numpy(inputs).to(device), patch=self.patch, overlap=self.overlap
        ).double()
        normalised: Array = (probs / probs.sum(-1, keepdim=True)).movedim(-1, 1).numpy()
        return normalised

    def _maps(self, inputs: Array, answer: Callable[[Tensor], Tensor], *, whole: bool = False) -> Array:
        """``answer`` for every pixel, ``(N, *space, ...)``, by windows unless images must stay ``whole``."""
        values = torch.from_numpy(inputs).to(next(self.learner_.parameters()).device)
        patch = None if whole else self.patch
        found: Array = in_chunks(self.learner_, answer, values, 256, patch, self.overlap).numpy()
        return found

    def _matrices(self, who: list[int]) -> Callable[[Tensor], Tensor]:
        """The matrices of these readers at every unit, ``(*U, R, K, K)``."""
        everywhere = torch.from_numpy(self.confusion_[who])

        def matrices(values: Tensor) -> Tensor:
            wanted = torch.tensor(who, device=values.device).expand(len(values), -1)
            # Matrices that are the same everywhere are those of confusion_, unless they tell nobody apart.
            alike = self.learner_.annotator_confusion() is not None
            own = None if alike else self.learner_.matrices_at(values, wanted)
            if own is not None:
                return own
            space = (len(values), *values.shape[2:])
            return everywhere.to(values).expand(*space, *everywhere.shape)

        return matrices

    def _positions(self, annotators: Sequence[Any] | None) -> list[int]:
        names = class_names(self.annotators_)
        if annotators is None:
            return list(range(len(names)))
        for name in annotators:
            if name not in names:
                raise ValueError(f"annotators names {name!r}, but fit saw {', '.join(map(str, names))}")
        return [names.index(name) for name in annotators]

    def _answer(self, images: Any, answer: Callable[[Array], Array]) -> Any:
        """Of an array at once, of a list of images one by one."""
        check_is_fitted(self)
        if differ(images):
            return [self._answer(np.asarray(image)[None], answer)[0] for image in images]
        inputs = check_images(images, standardize=self.standardize, dims=len(self.input_shape_) - 1)
        if inputs.shape[1] != self.input_shape_[0] or inputs.ndim != 1 + len(self.input_shape_):
            raise ValueError(f"images have the shape {inputs.shape[1:]}, but fit saw {self.input_shape_}")
        doubt = self.reading_ and self.reading_.doubt(inputs)
        if doubt:
            warnings.warn(f"{doubt} as the run had them: read them with read_images", stacklevel=3)
        return answer(inputs)


def _part(maps: Maps, place: int | slice) -> Maps:
    """What stands at a place of the first axis of each image."""
    return [own[place] for own in maps] if isinstance(maps, list) else maps[:, place]

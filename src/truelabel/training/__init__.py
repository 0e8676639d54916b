"""The one training loop, its checkpoints, and the run that methods work with."""

from truelabel.training.config import TrainingConfig
from truelabel.training.data import TrainingSet, as_float
from truelabel.training.divergence import DivergedError
from truelabel.training.engine import Engine
from truelabel.training.files import RunFolderError
from truelabel.training.fit import Fitted, Logging, Split, fit
from truelabel.training.history import History
from truelabel.training.pace import Pace, Stopped
from truelabel.training.run import Blueprint, Job, NetworkLike, Run, clean_probs, in_chunks, mean_matrices

__all__ = [
    "Blueprint",
    "DivergedError",
    "Engine",
    "Fitted",
    "History",
    "Job",
    "Logging",
    "NetworkLike",
    "Pace",
    "Run",
    "RunFolderError",
    "Split",
    "Stopped",
    "TrainingConfig",
    "TrainingSet",
    "as_float",
    "clean_probs",
    "fit",
    "in_chunks",
    "mean_matrices",
]

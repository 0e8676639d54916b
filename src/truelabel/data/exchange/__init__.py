"""Labels and masks from and to other tools: Label Studio, doccano, CVAT, COCO, crowd-kit, peerannot, Hugging Face.

What comes from elsewhere is not trusted: names that lead out of the data folder, absurd sizes, shapes that do not fit
their picture, documents that expand and archives are refused with one line that says which entry it is.
"""

from truelabel.data.exchange.coco import read_coco, write_coco
from truelabel.data.exchange.crowd_kit import read_crowd_kit, write_crowd_kit
from truelabel.data.exchange.cvat import read_cvat, read_cvat_masks
from truelabel.data.exchange.doccano import read_doccano
from truelabel.data.exchange.drawn import Drawn, DrawnMask
from truelabel.data.exchange.entries import ExchangeError
from truelabel.data.exchange.guess import guess_tool
from truelabel.data.exchange.hugging_face import from_datasets
from truelabel.data.exchange.label_studio import read_label_studio
from truelabel.data.exchange.label_studio_masks import read_label_studio_masks
from truelabel.data.exchange.label_studio_tasks import (
    Suggestion,
    TaskWriting,
    write_label_studio,
    write_label_studio_masks,
    write_predictions,
)
from truelabel.data.exchange.peerannot import read_peerannot, write_peerannot

__all__ = [
    "Drawn",
    "DrawnMask",
    "ExchangeError",
    "Suggestion",
    "TaskWriting",
    "from_datasets",
    "guess_tool",
    "read_coco",
    "read_crowd_kit",
    "read_cvat",
    "read_cvat_masks",
    "read_doccano",
    "read_label_studio",
    "read_label_studio_masks",
    "read_peerannot",
    "write_coco",
    "write_crowd_kit",
    "write_label_studio",
    "write_label_studio_masks",
    "write_peerannot",
    "write_predictions",
]

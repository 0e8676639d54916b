"""Where inputs come from: published data sets, folders of pictures and masks, tables, arrays and toys.

Importing this needs numpy only: Pillow, tifffile, nibabel, pyarrow, narwhals, scipy, scikit-image, scikit-learn and
torch wait for what uses them.
"""

import typing

from truelabel.data import exchange
from truelabel.data.arrays import load_array
from truelabel.data.cardiac_views import cardiac_views
from truelabel.data.cifar import cifar10, cifar100
from truelabel.data.cifar_n import cifar10n, cifar100n
from truelabel.data.clothing1m import clothing1m
from truelabel.data.dataset import Dataset
from truelabel.data.fetch import FetchError, fetch
from truelabel.data.folder import image_folder, list_images
from truelabel.data.geometry import Geometry
from truelabel.data.idx import fashion_mnist, mnist, read_idx
from truelabel.data.mask_folders import mask_folder
from truelabel.data.masks import read_mask, write_mask
from truelabel.data.medical_sets import brats2019, lidc, mslsc
from truelabel.data.mnist_masks import mnist_segmentation
from truelabel.data.preparation import centre_crop, normalise_case, resample, resize
from truelabel.data.rasters import read_picture
from truelabel.data.read_images import ReadImages
from truelabel.data.root import MissingDataError, data_root
from truelabel.data.scene_sets import cityscapes, pascal_voc
from truelabel.data.shapes import discs, spheres
from truelabel.data.sources import SOURCES, Source
from truelabel.data.svhn import svhn
from truelabel.data.table import Features, feature_table
from truelabel.data.text_table import Texts, text_table
from truelabel.data.toy import digits, two_circles, two_moons

if typing.TYPE_CHECKING:
    from truelabel.data.text import TextFeatures
else:

    def __getattr__(name: str) -> object:
        """Load what is a scikit-learn class when it is first asked for."""
        if name == "TextFeatures":
            from truelabel.data.text import TextFeatures

            return TextFeatures
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "SOURCES",
    "Dataset",
    "Features",
    "FetchError",
    "Geometry",
    "MissingDataError",
    "ReadImages",
    "Source",
    "TextFeatures",
    "Texts",
    "brats2019",
    "cardiac_views",
    "centre_crop",
    "cifar10",
    "cifar10n",
    "cifar100",
    "cifar100n",
    "cityscapes",
    "clothing1m",
    "data_root",
    "digits",
    "discs",
    "exchange",
    "fashion_mnist",
    "feature_table",
    "fetch",
    "image_folder",
    "lidc",
    "list_images",
    "load_array",
    "mask_folder",
    "mnist",
    "mnist_segmentation",
    "mslsc",
    "normalise_case",
    "pascal_voc",
    "read_idx",
    "read_mask",
    "read_picture",
    "resample",
    "resize",
    "spheres",
    "svhn",
    "text_table",
    "two_circles",
    "two_moons",
    "write_mask",
]

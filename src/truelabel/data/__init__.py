"""Where inputs come from: published data sets, folders of pictures, tables, arrays and toys.

Importing this needs numpy only: Pillow, pyarrow, narwhals, scikit-learn and torch wait for what uses them.
"""

from truelabel.data.arrays import load_array
from truelabel.data.cifar import cifar10, cifar100
from truelabel.data.cifar_n import cifar10n
from truelabel.data.dataset import Dataset
from truelabel.data.fetch import FetchError, fetch
from truelabel.data.folder import image_folder, list_images
from truelabel.data.idx import fashion_mnist, mnist, read_idx
from truelabel.data.root import MissingDataError, data_root
from truelabel.data.sources import SOURCES, Source
from truelabel.data.table import Features, feature_table
from truelabel.data.toy import digits, two_circles, two_moons

__all__ = [
    "SOURCES",
    "Dataset",
    "Features",
    "FetchError",
    "MissingDataError",
    "Source",
    "cifar10",
    "cifar10n",
    "cifar100",
    "data_root",
    "digits",
    "fashion_mnist",
    "feature_table",
    "fetch",
    "image_folder",
    "list_images",
    "load_array",
    "mnist",
    "read_idx",
    "two_circles",
    "two_moons",
]

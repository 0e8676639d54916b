"""Where published data sets can be downloaded, and how to tell that the download is right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Source:
    """One file of a data set.

    Args:
        path: where it goes under the data root, with forward slashes. A ``.tar.gz`` is also unpacked there.
        urls: where it can be had; tried in this order.
        checksum: ``"md5:..."`` or ``"sha256:..."`` in hexadecimal.
        size: its bytes, if known: shown as progress, and no more than that is ever downloaded.

    Raises:
        ValueError: if the path leaves the data root, the checksum is of another kind, or there is no URL.

    Example:
        >>> Source("a.bin", ("https://example.org/a.bin",), "md5:0cc175b9c0f1b6a831c399e269772661").size
    """

    path: str
    urls: tuple[str, ...]
    checksum: str
    size: int | None = None

    def __post_init__(self) -> None:
        path = PurePosixPath(self.path)
        if path.is_absolute() or ".." in path.parts or "\\" in self.path or not path.name:
            raise ValueError(f"path {self.path!r} leaves the data root: pass a relative path without '..'")
        kind, _, digest = self.checksum.partition(":")
        if len(digest) != {"md5": 32, "sha256": 64}.get(kind):
            raise ValueError(f"checksum {self.checksum!r} is unknown: pass 'md5:...' or 'sha256:...'")
        if not self.urls:
            raise ValueError(f"urls of {self.path} is empty: name at least one")


def _idx_files(folder: str, mirrors: tuple[str, ...], files: dict[str, str]) -> tuple[Source, ...]:
    return tuple(
        Source(f"{folder}/raw/{file}.gz", tuple(f"{url}/{file}.gz" for url in mirrors), f"md5:{md5}")
        for file, md5 in files.items()
    )


SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": _idx_files(
        "MNIST",
        ("https://ossci-datasets.s3.amazonaws.com/mnist",),
        {
            "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
        },
    ),
    "fashion_mnist": _idx_files(
        "FashionMNIST",
        ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",),
        {
            "train-images-idx3-ubyte": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte": "25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte": "bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte": "bb300cfdad3c16e7a12a480ee83cd310",
        },
    ),
    "cifar10": (
        Source(
            "cifar-10-binary.tar.gz",
            ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
            "md5:c32a1d4ab5d03f1284b67883e8d87530",
            170_052_171,
        ),
    ),
    "cifar100": (
        Source(
            "cifar-100-binary.tar.gz",
            ("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),
            "md5:03b5dce01913d631647c71ecec9e9cb8",
            168_513_733,
        ),
    ),
    "svhn": tuple(
        Source(f"svhn/{file}", (f"http://ufldl.stanford.edu/housenumbers/{file}",), f"md5:{md5}")
        for file, md5 in (
            ("train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),
            ("test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),
        )
    ),
}
"""What :func:`truelabel.data.fetch` can download, by the name of the function that reads it."""

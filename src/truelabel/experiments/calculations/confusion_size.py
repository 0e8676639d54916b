"""Section A.4 of Zhang 2020: what matrices at every pixel cost, full or of low rank."""

from __future__ import annotations


def confusion_size(seed: int, *, width: int, height: int, classes: int, rank: int | None = None) -> dict[str, float]:
    r"""Variables of one reader's matrices, and operations to see an image's probabilities through them.

    Full matrices have :math:`WHL^2` variables and take :math:`WH (2L - 1) L` operations; those of rank l, which are
    :math:`B_1 B_2^\top` with both factors :math:`L \times l`, have :math:`2WHLl` and take :math:`WH (4L(l - 0.25) - l)`
    (Section 3.2 and A.4). Differs from what the library learns: it adds a diagonal to the factors, since without one
    what a reader of rank one says does not depend on the truth.

    Args:
        seed: not used; there is nothing random.
        width: W.
        height: H.
        classes: L.
        rank: l; None for full matrices.

    Example:
        >>> confusion_size(0, width=192, height=192, classes=4)
        {'variables': 589824.0, 'operations': 1032192.0}
        >>> confusion_size(0, width=192, height=192, classes=4, rank=1)
        {'variables': 294912.0, 'operations': 405504.0}
    """
    pixels = width * height
    if rank is None:
        return {"variables": float(pixels * classes**2), "operations": float(pixels * (2 * classes - 1) * classes)}
    return {
        "variables": float(2 * pixels * classes * rank),
        "operations": float(pixels * (4 * classes * (rank - 0.25) - rank)),
    }

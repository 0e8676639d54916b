"""Whether kernels of our own can run on a device. What has one works without it too, in more steps."""

from __future__ import annotations

import functools
import warnings
from importlib.util import find_spec

import torch


@functools.cache
def kernels_work(device: torch.device) -> bool:
    """Whether Triton is there and can build kernels for ``device``, tried once: it needs a C compiler, for one.

    Example:
        >>> kernels_work(torch.device("cpu"))
        False
    """
    if device.type != "cuda" or find_spec("triton") is None:
        return False
    try:
        from truelabel.trial_kernel import doubled

        return doubled(torch.ones(3, device=device)).tolist() == [2.0, 2.0, 2.0]
    except Exception as error:  # whatever stands in the way, torch's own operations do not need it
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        warnings.warn(
            f"Triton cannot build kernels for {device}, so that torch's own, slower ones run: {reason}", stacklevel=2
        )
        return False

"""Whether kernels of our own can run on a device. What has one works without it too, in more steps."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import torch
from torch import nn

_FOUND: dict[torch.device, bool] = {}


def kernels_work(device: torch.device) -> bool:
    """Whether Triton is there and can build kernels for ``device``, tried once: it needs a C compiler, for one.

    They are not for torch.compile, which fuses what it sees.

    Example:
        >>> kernels_work(torch.device("cpu"))
        False
    """
    if device.type != "cuda" or torch.compiler.is_compiling() or find_spec("triton") is None:
        return False
    if device not in _FOUND:
        _FOUND[device] = _tried(device)
    return _FOUND[device]


def is_watched(layer: nn.Module) -> bool:
    """Whether somebody has put hooks on a layer, or on all, which kernels for several layers at once would pass over.

    Example:
        >>> layer = torch.nn.Linear(2, 3)
        >>> handle = layer.register_forward_hook(lambda *given: None)
        >>> is_watched(layer)
        True
    """
    own = layer._forward_pre_hooks, layer._forward_hooks, layer._backward_pre_hooks, layer._backward_hooks
    return any(own) or nn.modules.module._has_any_global_hook()


def _tried(device: torch.device) -> bool:
    try:
        from truelabel.trial_kernel import doubled

        with torch.cuda.device(device):
            return doubled(torch.ones(3, device=device)).tolist() == [2.0, 2.0, 2.0]
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever stands in the way, torch's own operations do not need it
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        warnings.warn(
            f"Triton cannot build kernels for {device}, so that torch's own, slower ones run: {reason}", stacklevel=3
        )
        return False

"""Memory of the C library: what a training frees, its next step wants again."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGE = 2**30


def keep_freed_memory() -> bool:
    """Let this process keep large blocks that were freed, instead of giving them back to the system.

    On a CPU every step allocates its activations anew. By default glibc returns blocks of more than 32 MiB, and the
    system hands them out again zeroed: a tenth of a step of ResNet-18 on 64 images of 32 x 32
    (``benchmarks/cpu_step.py``). It concerns the whole process, so only commands and workers of their own call it; the
    price is that the process stays as large as it ever was.

    Returns:
        Whether the C library has such a setting; only glibc has.

    Example:
        >>> keep_freed_memory() in (True, False)
        True
    """
    if sys.platform != "linux":
        return False
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    return setting is not None and bool(setting(M_MMAP_THRESHOLD, LARGE) and setting(M_TRIM_THRESHOLD, 2 * LARGE - 1))

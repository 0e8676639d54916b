"""Which devices a training runs on, and how many processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from truelabel.training.config import Precision

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Device = Literal["auto", "cpu", "cuda", "mps"]


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Devices and processes.

    Attributes:
        device: "auto" takes a GPU if there is one.
        processes: how many, one device each; they share every batch equally and average gradients (DDP).

    Example:
        >>> Engine(device="cpu").fabric("32-true").device
        device(type='cpu')
    """

    device: Device = "auto"
    processes: int = 1

    def __post_init__(self) -> None:
        if self.device not in get_args(Device):
            raise ValueError(f"device must be one of {', '.join(get_args(Device))}, got {self.device!r}")
        if self.processes < 1:
            raise ValueError(f"processes must be at least 1, got {self.processes!r}")

    def check(self) -> None:
        """Raise a one-line ValueError if PyTorch has no such device; nothing is started on it."""
        import torch

        missing = self.device == "cuda" and not torch.cuda.is_available()
        if missing or (self.device == "mps" and not torch.backends.mps.is_available()):
            raise ValueError(f"device {self.device!r} is not to be had here: PyTorch sees none; use 'cpu'")

    def fabric(self, precision: Precision, processes: int = 1) -> Fabric:
        """The Lightning engine that does it."""
        from lightning_fabric import Fabric

        strategy = "auto" if processes == 1 else "ddp_spawn"
        try:
            plain = Fabric(accelerator=self.device, devices=processes, strategy=strategy)
            if precision == "32-true":
                return plain
            from truelabel.training.autocast import Autocast

            autocast = Autocast(plain.device.type)
            return Fabric(accelerator=self.device, devices=processes, plugins=autocast, strategy=strategy)
        except (RuntimeError, ValueError) as error:
            raise ValueError(
                f"device {self.device!r} with {processes} processes is not to be had here: {error}"
            ) from error

    def run(self, precision: Precision, work: Callable[[Fabric], None]) -> None:
        """Call ``work(fabric)`` in every process; ``work`` and what it holds are pickled if there are several."""
        fabric = self.fabric(precision, self.processes)
        if self.processes == 1:
            fabric.launch()
            work(fabric)
        else:
            fabric.launch(_Departing(work))


class _Departing:
    """Work after which processes part in order: threads that outlive Python would abort one of them now and then."""

    def __init__(self, work: Callable[[Fabric], None]) -> None:
        self.work = work

    def __call__(self, fabric: Fabric) -> None:
        from torch import distributed

        self.work(fabric)
        fabric.barrier()
        if distributed.is_initialized():
            distributed.destroy_process_group()

r"""Adam and AdamW for all parameters in one kernel for a GPU.

torch's fused Adam gives a program 65,536 numbers, so a small network occupies few multiprocessors; here a program has
1,024. For a parameter :math:`\theta` with gradient :math:`g`, learning rate :math:`\gamma` and decay :math:`\lambda`,

.. math::
    m &\leftarrow m + (1 - \beta_1)(g - m), \qquad v \leftarrow \beta_2 v + (1 - \beta_2) g^2, \\
    \theta &\leftarrow \theta
        - \frac{\gamma}{1 - \beta_1^t} \, \frac{m}{\sqrt{v} / \sqrt{1 - \beta_2^t} + \epsilon},

where before Adam adds :math:`\lambda \theta` to :math:`g`, and AdamW multiplies :math:`\theta` by
:math:`1 - \gamma \lambda`.

Only :mod:`truelabel.training.optimizers` imports this module, on a GPU: Triton is optional.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

jit: Any = triton.jit

BLOCK = 1024
WARPS = 4
COLUMNS = tl.constexpr(16)
"""Of the table that a kernel reads, 8 bytes each: one cache line a program."""

MOST = 64
"""Gradients that one launch may have."""

PADDING = 16
"""Their number is a multiple of this, so that networks share compiled kernels."""


def updatable(parameters: Sequence[Tensor]) -> bool:
    """Whether these can be given to the optimisers below: float32, dense in memory, all on one device."""
    single = len({parameter.device for parameter in parameters}) == 1
    return single and all(p.dtype == torch.float32 and _same_order(torch.empty_like(p), p) for p in parameters)


class _InOneLaunch:
    """The step of :class:`KernelAdam` and :class:`KernelAdamW`, in front of torch's class."""

    decoupled: bool
    param_groups: list[dict[str, Any]]
    state: defaultdict[Tensor, Any]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: computes the loss anew, and returns it.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters, gradients, steps, rows = [], [], [], []
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self._state_of(parameter)
                parameters.append(parameter)
                gradients.append(_laid_like(parameter, parameter.grad))
                steps.append(state["step"])
                rows.append(_row(parameter, state, group))
        if not parameters:
            return loss
        torch._foreach_add_(steps, 1)
        with torch.cuda.device_of(parameters[0]):
            for table in self._tables_of(rows, parameters[0].device):
                table.launch(gradients, self.decoupled)
        # Autograd notices that a tensor it kept has changed only if it is told so.
        torch.autograd.graph.increment_version(parameters)
        return loss

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As in torch, for parameters that are :func:`updatable`."""
        super().add_param_group(param_group)  # type: ignore[misc]  # of torch's class, which comes behind this one
        # Says where step counts are; torch's class refuses it on a CPU, where it may take up the state.
        self.param_groups[-1]["capturable"] = self.param_groups[-1]["params"][0].is_cuda
        self._check()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]  # of torch's class
        self._check()

    def _check(self) -> None:
        if not updatable([parameter for group in self.param_groups for parameter in group["params"]]):
            raise ValueError("params must be float32, dense in memory and on one device: use the class of torch.optim")
        for option in ("amsgrad", "maximize"):
            if any(group[option] for group in self.param_groups):
                raise ValueError(f"{option} is not supported: use the class of torch.optim")
        if any(group.get("decoupled_weight_decay", self.decoupled) != self.decoupled for group in self.param_groups):
            raise ValueError("decoupled_weight_decay is that of the other class: use KernelAdamW for True")

    def _state_of(self, parameter: Tensor) -> dict[str, Any]:
        """Step count and averages as torch keeps them, in memory as the kernel wants them."""
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device=parameter.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["step"] = state["step"].to(parameter.device, torch.float32)
        for key in ("exp_avg", "exp_avg_sq"):
            state[key] = _laid_like(parameter, state[key])
        return state

    def _tables_of(self, rows: list[_Row], device: torch.device) -> list[_Table]:
        """One a launch; those that are on the device already as long as no row changes."""
        # Attributes of this class are not set in __init__, which a copy does not call.
        tables: list[_Table]
        known, tables = self.__dict__.get("_tables", ([], []))
        capturing = device.type == "cuda" and torch.cuda.is_current_stream_capturing()
        if known != rows:
            tables = [_Table(rows[first : first + MOST], first, device) for first in range(0, len(rows), MOST)]
            # What is sent in a capture arrives at the first replay: no eager step may read it before.
            if not capturing:
                self.__dict__["_tables"] = rows, tables
        if capturing:
            # A graph reads them at every replay, whatever the optimiser does meanwhile.
            self.__dict__.setdefault("_captured", []).append(tables)
        return tables


class KernelAdam(_InOneLaunch, torch.optim.Adam):
    """:class:`torch.optim.Adam` with all parameters in one launch, and the same state.

    A learning rate that is no float32 tensor on the device of the parameters is replaced by one. In a CUDA graph the
    step can be recorded after an eager step with gradients for the same parameters, which sends their addresses to the
    device; those of the gradients are arguments of the kernel, hence part of the graph.

    Args:
        params: parameters or groups of them, each :func:`updatable`.
        lr: learning rate.
        betas: decay of the two averages.
        eps: added to the denominator.
        weight_decay: times a parameter, is added to its gradient.
    """

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


class KernelAdamW(_InOneLaunch, torch.optim.AdamW):
    """:class:`torch.optim.AdamW` with all parameters in one launch, and the same state.

    Args:
        params: as of :class:`KernelAdam`, as are ``lr``, ``betas`` and ``eps``.
        lr: learning rate.
        betas: decay of the two averages.
        eps: added to the denominator.
        weight_decay: times the learning rate, is the share of a parameter that it loses every step.
    """

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


_Row = tuple[int | float, ...]
"""Size; addresses of parameter, both averages, step and learning rate; six constants."""


class _Table:
    """What the programs of one launch read, a row each.

    Args:
        rows: of the parameters of this launch.
        first: the position of their first gradient among all.
        device: where.
    """

    def __init__(self, rows: list[_Row], first: int, device: torch.device) -> None:
        whole = torch.tensor([row[:6] for row in rows])
        constants = torch.tensor([row[6:] for row in rows], dtype=torch.float64).view(torch.int64)
        sizes = whole[:, 0]
        programs = (sizes + BLOCK - 1) // BLOCK
        which = torch.arange(len(rows)).repeat_interleave(programs)
        start = (torch.arange(len(which)) - (programs.cumsum(0) - programs)[which]) * BLOCK
        table = torch.zeros(len(which), COLUMNS.value, dtype=torch.int64)
        table[:, 0] = which
        table[:, 1] = start * 4
        table[:, 2] = (sizes[which] - start).clamp(max=BLOCK)
        table[:, 3:8] = whole[which, 1:]
        table[:, 8:14] = constants[which]
        self.gradients = slice(first, first + len(rows))
        # Kept, because a copy from pinned memory does not wait, and one in a graph is made at every replay.
        self.host = table.pin_memory() if device.type == "cuda" else table
        self.table = self.host.to(device, non_blocking=True)

    def launch(self, gradients: Sequence[Tensor], decoupled: bool) -> None:
        """Update the parameters, given the gradients of all."""
        if not len(self.table):
            return
        mine = tuple(gradients[self.gradients])
        mine += mine[:1] * (-len(mine) % PADDING)
        _update_blocks[(len(self.table),)](self.table, mine, decoupled, BLOCK, num_warps=WARPS)


def _row(parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> _Row:
    rate = group["lr"]
    if not (isinstance(rate, Tensor) and rate.dtype == torch.float32 and rate.device == parameter.device):
        group["lr"] = rate = torch.full((), float(rate), device=parameter.device)
    tensors = parameter, state["exp_avg"], state["exp_avg_sq"], state["step"], rate
    betas = group["betas"]
    logs = (math.log(beta) if beta else -math.inf for beta in betas)
    return (parameter.numel(), *(t.data_ptr() for t in tensors), *betas, *logs, group["eps"], group["weight_decay"])


def _laid_like(parameter: Tensor, values: Tensor) -> Tensor:
    """Values as float32 in the order in which the parameter lies in memory: themselves, if they are."""
    if values.dtype == torch.float32 and values.device == parameter.device and _same_order(parameter, values):
        return values
    return torch.empty_like(parameter).copy_(values)


def _same_order(one: Tensor, other: Tensor) -> bool:
    if one.stride() == other.stride():
        return True
    # The stride of a dimension of size 1 says nothing, and convolutions of one channel have two ways to write it.
    sizes = zip(one.shape, one.stride(), other.stride(), strict=True)
    return all(size == 1 or mine == theirs for size, mine, theirs in sizes)


@jit
def _update_blocks(table, gradients, DECOUPLED: tl.constexpr, BLOCK: tl.constexpr):
    row = table + tl.program_id(0) * COLUMNS
    which = tl.load(row).to(tl.int32)
    gradient = gradients[0].to(tl.int64)
    for i in tl.static_range(1, len(gradients)):
        gradient = tl.where(which == i, gradients[i].to(tl.int64), gradient)
    start = tl.load(row + 1)
    count = tl.load(row + 2).to(tl.int32)
    addresses = gradient + start, tl.load(row + 3) + start, tl.load(row + 4) + start, tl.load(row + 5) + start
    # Without a mask and at addresses it is told about, the compiler moves 16 bytes at once.
    if (count == BLOCK) & ((addresses[0] | addresses[1] | addresses[2] | addresses[3]) % 16 == 0):
        _update(addresses, count, row, True, DECOUPLED, BLOCK)
    else:
        _update(addresses, count, row, False, DECOUPLED, BLOCK)


@jit
def _update(addresses, count, row, WHOLE: tl.constexpr, DECOUPLED: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = None if WHOLE else lanes < count
    gradient = _numbers(addresses[0], WHOLE) + lanes
    parameter = _numbers(addresses[1], WHOLE) + lanes
    mean = _numbers(addresses[2], WHOLE) + lanes
    square = _numbers(addresses[3], WHOLE) + lanes
    g = tl.load(gradient, mask=inside)
    p = tl.load(parameter, mask=inside)
    m = tl.load(mean, mask=inside)
    v = tl.load(square, mask=inside)
    # Only now, while these are on their way.
    step = tl.load(_numbers(tl.load(row + 6), False)).to(tl.float64)
    rate = tl.load(_numbers(tl.load(row + 7), False))
    beta_1, beta_2 = _constant(row + 8), _constant(row + 9)
    # In double precision, because 1 - 0.999 in single has lost three digits.
    correction_1 = (1 - tl.exp(step * _constant(row + 10))).to(tl.float32)
    correction_2 = (1 - tl.exp(step * _constant(row + 11))).to(tl.float32)
    eps, decay = _constant(row + 12).to(tl.float32), _constant(row + 13).to(tl.float32)
    if DECOUPLED:
        p *= 1 - rate * decay
    else:
        g += decay * p
    m += (1 - beta_1).to(tl.float32) * (g - m)
    v = beta_2.to(tl.float32) * v + (1 - beta_2).to(tl.float32) * g * g
    p -= rate / correction_1 * m / (tl.sqrt(v) / tl.sqrt(correction_2) + eps)
    tl.store(parameter, p, mask=inside)
    tl.store(mean, m, mask=inside)
    tl.store(square, v, mask=inside)


@jit
def _numbers(address, ALIGNED: tl.constexpr):
    numbers = address.to(tl.pointer_type(tl.float32))
    return tl.multiple_of(numbers, 16) if ALIGNED else numbers


@jit
def _constant(place):
    return tl.load(place).to(tl.float64, bitcast=True)

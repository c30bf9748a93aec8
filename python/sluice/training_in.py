"""``sluice.train_in(module, optimizer, fast="6GiB", to="/fast/disk")``: weights, what the optimizer keeps, and what a step makes,
in one stated piece of memory, by plain PyTorch.

It is offload_parameters, offload_optimizer and offload together, and divides the memory between them. What a step has to have
at once (gradients, what computing takes for a while) is known when the first step is over. A byte more for what autograd saves
spares a write and a read of it, a byte more for weights two reads, and writes are the slower ones: so activations get what they
would like, weights the rest: all that is not in use just then, from one saved tensor to the next.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Sequence

from sluice.errors import SluiceError
from sluice.offloading import Offload
from sluice.optimizing import OffloadedOptimizer, offload_optimizer
from sluice.parameters import OffloadedParameters
from sluice.paths import Path
from sluice.sizes import parse_size

if TYPE_CHECKING:
    import torch

_MOST_THAT_STREAMS = 64 << 20  # bytes of weights that have to be in memory at once; of small ones an eighth
_LARGEST_WINDOW = 256 << 20  # of states, in each direction
_SPARE = 16  # a part in so many, for holes between tensors
_LARGEST_GRAIN = 16 << 20  # by which what weights get changes
_EVENTS_SOON, _EVENTS_LATER = 2, 256
_FILE_BUDGETS = 32  # so many times the memory may be saved in a step, if half of the disk has it
_TRIED_BYTES = 64 << 20
_STATES = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "Adadelta": 2}  # of a weight's size, of each weight


@dataclass
class TrainingReport:
    """Bytes that went to the disk and came from it: in the last step, and in all."""

    step_read: int = 0
    step_written: int = 0
    read: int = 0
    written: int = 0
    weights: int = 0  # of the memory given, for weights
    others: int = 0  # likewise, for everything else
    peak: int = 0  # of others, in the last step
    notes: list[str] = field(default_factory=list)  # of that step: what did not go as it should, such as a file that is full


class TrainIn:
    """See :func:`train_in`."""

    def __init__(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer, fast: str | int, to: str, weights: Any,
                 during_backward: bool, quiet: bool):
        self._fast, self._quiet = parse_size(fast), quiet
        window = max(1 << 20, min(_LARGEST_WINDOW, self._fast // 8))
        self._grain = max(1 << 16, min(_LARGEST_GRAIN, self._fast // 64))
        self._refuse_below(_least(module, during_backward), "before the first step")
        self.parameters = OffloadedParameters(module, max(self._fast // 2, 2 << 20), to, weights)
        self._put_into(optimizer)
        self.optimizer: OffloadedOptimizer = offload_optimizer(optimizer, to, during_backward, window).offloaded
        self._offload = Offload(self._fast - self._fast // 2, to, min(_FILE_BUDGETS * self._fast, shutil.disk_usage(to).free // 2))
        self._offload.choose, self._offload.watch = self._divide, self._give_weights
        self._read_before = self._written_before = self._left = 0
        self.expected_seconds = self._expect(optimizer, module, to)

    # -- steps

    def __enter__(self) -> TrainIn:
        self._under_way = self.optimizer.under_way  # which the step does not count as its own
        self._offload.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._offload.__exit__(*exception)
        self._left += self._offload.last.left

    def report(self) -> TrainingReport:
        """Of the last step: since the last call, or the beginning."""
        weights, states = self.parameters.report(), self.optimizer.moved
        read, written = weights.read + states[0] + self._left, weights.written + states[1] + self._left
        report = TrainingReport(read - self._read_before, written - self._written_before, read, written, self.parameters.fast,
                                self._fast - self.parameters.fast, self._offload.last.peak, self._offload.last.notes)
        self._read_before, self._written_before = read, written
        return report

    # -- inside

    def _put_into(self, optimizer: torch.optim.Optimizer) -> None:
        """Parameters that were on "meta" are others now."""
        replaced = self.parameters.replaced
        for group in optimizer.param_groups:
            group["params"] = [replaced.get(id(each), each) for each in group["params"]]

    def _divide(self, path: Path) -> int:
        """What the step's tensors get."""
        beside = _streaming(self.parameters.bytes) + self._under_way
        self._refuse_below(int(path.least() * (1 + 1 / _SPARE)) + beside, "now that a step has shown what it takes at once")
        wanted = int(path.peak() * (1 + 2 / _SPARE))
        return max(1, min(wanted, self._fast - beside))

    def _give_weights(self, mosts: Sequence[int] | None, event: int) -> None:
        """What a step's tensors do not take now, nor soon. What they will need again before long is not lent: fresh pages cost
        time."""
        if mosts is None:
            others = max(self._offload.last.budget or self._fast // 2, self._offload.needed + self._offload.holes)
            self._set_weights(self._fast - others - self._under_way)
            return
        beside = self._offload.holes + self._under_way
        soon, later = (max(mosts[event : event + events], default=0) + beside for events in (_EVENTS_SOON, _EVENTS_LATER))
        now = self.parameters.fast
        self._set_weights(min(max(now, self._fast - int(later)), self._fast - int(soon)))

    def _set_weights(self, nbytes: int) -> None:
        wanted = max(_streaming(self.parameters.bytes), nbytes // self._grain * self._grain)
        if wanted < self.parameters.fast:
            self.parameters.set_fast(wanted)
        self._offload.keep_at_most(self._fast - wanted - self._under_way)
        if wanted > self.parameters.fast:
            self.parameters.set_fast(wanted)

    def _refuse_below(self, least: int, when: str) -> None:
        if self._fast < least:
            raise SluiceError(f"{_mib(self._fast)} are too little, {when}: the smallest that works is {_mib(least)} (gradients and what "
                              "computing takes at once, and weights that stream through)", "infeasible", least, self._fast)

    def _expect(self, optimizer: torch.optim.Optimizer, module: torch.nn.Module, to: str) -> float:
        """Seconds of the disk in each step, at the least; says so."""
        away = max(0, self.parameters.bytes - self._fast // 2)
        trained = sum(each.numel() * each.element_size() for each in module.parameters() if each.requires_grad)
        kept = _STATES.get(type(optimizer).__name__, 1) * trained
        read, written = 2 * away + kept, min(trained, away) + kept
        reading, writing = _speeds(to)
        seconds = read / reading + written / writing
        if not self._quiet:
            print(f"sluice: note: a step reads {_mib(read)} and writes {_mib(written)} of weights and the optimizer's state, which takes "
                  f"this disk {seconds:.1f} s ({reading / 1e9:.1f} and {writing / 1e9:.1f} GB/s): a step that computes in less waits for it",
                  file=sys.stderr)
        return seconds


def _least(module: torch.nn.Module, during_backward: bool) -> int:
    """Known before any step: a gradient, or all of them, and weights that stream through."""
    sizes = [each.numel() * each.element_size() for each in module.parameters() if each.requires_grad]
    total = sum(each.numel() * each.element_size() for each in module.parameters())
    gradients = max(sizes, default=0) if during_backward else sum(sizes)
    return gradients + _streaming(total)


def _streaming(total: int) -> int:
    """The least that weights of so many bytes need."""
    return max(2 << 20, min(total // 8, _MOST_THAT_STREAMS))


def _speeds(folder: str) -> tuple[float, float]:
    """Bytes a second, read and written."""
    import torch

    from sluice import _core
    from sluice.memory import pool

    pool()
    tried = torch.ones(_TRIED_BYTES // 4)
    store = _core.SavedStore(folder, _TRIED_BYTES)
    begun = time.perf_counter()
    number = store.leave(tried.data_ptr(), _TRIED_BYTES)
    store.wait_left(number)
    left = time.perf_counter()
    store.bring(number, tried.data_ptr())
    store.wait_here(number)
    here = time.perf_counter()
    store.forget(number)
    return _TRIED_BYTES / max(here - left, 1e-6), _TRIED_BYTES / max(left - begun, 1e-6)


def _mib(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MiB"


def train_in(module: torch.nn.Module, optimizer: torch.optim.Optimizer, fast: str | int, to: str, weights: Any = None,
             during_backward: bool = True, quiet: bool = False) -> TrainIn:
    """Trains a module whose weights, optimizer's state and activations do not fit, in `fast` bytes; enter it around each step.

    Args:
        module: any; its parameters are in PyTorch's main memory, or on "meta" where `weights` has them.
        optimizer: of these parameters; any (see :func:`offload_optimizer`).
        fast: bytes of memory for all tensors of the training but its batches and buffers ("6GiB").
        to: a folder on a fast disk.
        weights: a checkpoint, read in place (see :func:`offload_parameters`).
        during_backward: see :func:`offload_optimizer`; without it, all gradients have to fit.
        quiet: without the note of what the disk takes in each step.

    ::

        training = sluice.train_in(model, optimizer, fast="6GiB", to="/fast/disk", weights="model.safetensors")
        for x, y in batches:
            with training:
                loss = criterion(model(x), y)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    Bits are PyTorch's. ``report()`` says what was read and written. A SluiceError of the kind "infeasible" names the smallest budget
    that works: at once where no step could fit, behind the first step where that shows what computing takes at once.
    """
    if not os.path.isdir(to):
        raise FileNotFoundError(f"{to}: no such folder, and what does not fit is to go there")
    return TrainIn(module, optimizer, fast, to, weights, during_backward, quiet)

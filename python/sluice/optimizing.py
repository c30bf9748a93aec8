"""``sluice.offload_optimizer(optimizer, to="/fast/disk")``: what an optimizer keeps of each parameter is on a disk.

Adam keeps two values of each weight, and touches them once a step. Here they come from the disk shortly before their
parameter is updated and go back behind it, a window of them at a time. Whoever looks at them brings them (elsewhere.py),
the optimizer included: so it may be any, and its bits are those of PyTorch.

PyTorch's own optimizers treat each parameter by itself, and are called for one after the other; those that treat each
element by itself for one part of a large parameter (an embedding) after the other. Others are called as they are.

Threads: one at a time; the hooks of a backward pass run where autograd runs them.
"""

from __future__ import annotations

import contextlib
import os
import types
from typing import TYPE_CHECKING, Any, Callable

from sluice.elsewhere import StateDict, States, plain
from sluice.memory import pool
from sluice.sizes import parse_size
from sluice.state_store import StateStore
from sluice.updating import OneParameter, Update

if TYPE_CHECKING:
    import torch

_BY_ELEMENT = ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Rprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD")
_BY_PARAMETER = (*_BY_ELEMENT, "SparseAdam")
_VECTORS = 64  # elements: a multiple of what any processor computes at once
_SHARE = 1 << 15  # elements: PyTorch gives no thread fewer of them, so that with fewer not all threads compute


class OffloadedOptimizer:
    """See :func:`offload_optimizer`."""

    def __init__(self, optimizer: torch.optim.Optimizer, to: str, during_backward: bool, window: str | int):
        pool()
        if not os.path.isdir(to):
            raise FileNotFoundError(f"{to}: no such folder, and the optimizer's state is to go there")
        if hasattr(optimizer, "offloaded"):
            raise ValueError("the optimizer's state is offloaded already")
        if during_backward and _is_of(optimizer, ("LBFGS",)):
            raise ValueError("LBFGS looks at all parameters together: none can be updated by itself during the backward pass")
        self._optimizer, self._during_backward = optimizer, during_backward
        self._store = StateStore(optimizer, to, parse_size(window))
        self._order: list[StateDict | None] = []  # in which they were updated in the last step
        self._updated: list[StateDict | None] = []  # in this one
        self._updates: dict[torch.Tensor, Update] = {}  # of this step; of an interrupted one, until the next
        self._accumulators: dict[torch.Tensor, Any] = {}
        self._plain_step = type(optimizer).step
        self._one = OneParameter(optimizer)
        self._together = not during_backward and not _is_of(optimizer, _BY_PARAMETER)
        self._by_element = _is_of(optimizer, _BY_ELEMENT)
        self._take_over()
        self._begin()

    def _take_over(self) -> None:
        """What the user calls is of the optimizer itself: schedules of learning rates count its steps there."""
        optimizer, packed = self._optimizer, self._optimizer.state_dict
        before = vars(optimizer).get("step")
        self._counted = hasattr(before, "_with_counter")

        def step(_: Any, closure: Callable | None = None) -> Any:
            return self.step(closure)

        def state_dict(_: Any) -> dict:
            whole = packed()
            return {**whole, "state": plain(whole["state"])}

        step.__dict__.update(getattr(before, "__dict__", {}))
        optimizer.step = types.MethodType(step, optimizer)  # type: ignore[method-assign]
        optimizer.state_dict = types.MethodType(state_dict, optimizer)  # type: ignore[method-assign]

    # -- what the user calls

    def step(self, closure: Callable | None = None) -> Any:
        """As the optimizer's own; parameters that the backward pass has updated have no gradient left, and are done.

        An exception between two instructions (Ctrl-C) is raised when the step is complete. Where it cannot be completed,
        each parameter is as before the step or as behind it, and the next call with the same gradients completes it.
        """
        return (self._step_with_grad_mode(closure), self._updates.clear())[0]  # no instruction may come between

    def bring_all(self) -> None:
        """Everything into memory, to look at it or to save it. It leaves again behind the next update."""
        plain(self._optimizer.state)

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes read and written, in all."""
        return self._store.read, self._store.written

    @property
    def under_way(self) -> int:
        """Bytes of the state that are in memory for as long as the disk needs."""
        return self._store.under_way()

    # -- a step

    def _step_with_grad_mode(self, closure: Callable | None) -> Any:
        """It is afterwards what it was: PyTorch forgets to restore it where an exception comes as it does so."""
        import torch

        enabled = torch.is_grad_enabled()
        try:
            return self._step(closure)
        except BaseException:
            torch._C._set_grad_enabled(enabled)
            raise

    def _step(self, closure: Callable | None) -> Any:
        import torch

        self._count()
        if self._together:
            return self._step_together(closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._surely(self._update_all)
        self._end_step()
        return loss

    def _begin(self) -> None:
        """What is in the optimizer now is what counts: another state, other groups."""
        for update in self._updates.values():
            update.take_back()
        if type(self._optimizer.state) is not States:
            self._optimizer.state = States(self._optimizer.state)
        if self._during_backward:
            self._hook_parameters()

    def _surely(self, run: Callable[[], None]) -> None:
        """`run` goes on where it was left."""
        try:
            run()
        except BaseException:
            try:
                with contextlib.suppress(Exception):
                    run()
            finally:
                self._begin()
            raise

    def _count(self) -> None:
        if self._counted:
            self._optimizer._step_count += 1  # type: ignore[attr-defined]
        self._optimizer._opt_called = True  # type: ignore[attr-defined]

    def _update_all(self) -> None:
        self._begin()
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)
        self._keep_written()

    def _end_step(self) -> None:
        self._order, self._updated = self._updated, []
        problem, self._store.problem = self._store.problem, None
        if problem is not None:
            raise problem

    def _update(self, parameter: torch.Tensor, group: dict) -> None:
        update = self._updates.get(parameter)
        if update is not None:
            update.take_back()
        if update is None or not update.is_of(parameter.grad):
            update = self._updates[parameter] = Update(parameter, self._ranges(parameter), parameter not in self._optimizer.state)
        while not update.complete:
            self._update_next(update, group)
        state = dict.get(self._optimizer.state, parameter)
        if update.is_first and state is not None and state.is_empty():  # an optimizer that keeps nothing of it
            del self._optimizer.state[parameter]
        if self._during_backward:
            update.drop_gradient()

    def _update_next(self, update: Update, group: dict) -> None:
        states: States = self._optimizer.state
        parts = None
        if len(update.ranges) > 1:
            parts = states[update.parameter].split(update.ranges, update.parameter.shape, surely=update.next > 0)
            if parts is None:  # somebody holds a part of its state
                update.ranges = [(0, update.parameter.numel())]
        state = dict.get(states, update.parameter) if parts is None else parts[update.next]
        self._bring(state)
        update.run(self._one, group, states, None if parts is None else state)
        if parts is None:
            state = dict.get(states, update.parameter)
        self._updated.append(state)
        self._store.leave(state)

    def _ranges(self, parameter: torch.Tensor) -> list[tuple[int, int]]:
        """Parts of whole vectors for as many threads, so that elements meet the same instructions as in the whole parameter:
        the same bits."""
        import torch

        count, threads = parameter.numel(), torch.get_num_threads()
        grain = _VECTORS * threads
        part = max(self._store.nbytes // 4 // parameter.element_size(), _SHARE * threads) // grain * grain
        alike = not parameter.grad.is_sparse and parameter.is_contiguous() and parameter.grad.is_contiguous()
        if not self._by_element or not alike or count % grain != 0 or count < 2 * part:
            return [(0, count)]
        begins = list(range(0, count - part + 1, part))
        return list(zip(begins, [*begins[1:], count]))

    def _keep_written(self) -> None:
        """To groups: each parameter's step found them as they were before the step."""
        for group in self._optimizer.param_groups:
            written: dict = {}
            for update in filter(None, map(self._updates.get, group["params"])):
                for key, value in update.written.items():
                    if not _same(written.setdefault(key, value), value):
                        raise RuntimeError(f"{type(self._optimizer).__name__} keeps '{key}' of all parameters together: "
                                           "offload it without during_backward")
                update.written = {}
            group.update(written)

    def _step_together(self, closure: Callable | None) -> Any:
        """Of an optimizer that may look at all parameters together: its own step. What it looks at comes, and leaves when it
        looks at the next but one."""
        self._begin()
        states: States = self._optimizer.state
        states.looked_at = self._looked_at
        try:
            result = self._plain_step(self._optimizer, closure)
        finally:
            states.looked_at = None
        for state in states.values():
            self._store.leave(state)
        self._end_step()
        return result

    def _looked_at(self, state: StateDict) -> None:
        if any(state is each for each in self._updated[-2:]):
            return
        self._bring(state)
        self._updated.append(state)
        if len(self._updated) > 2:
            self._store.leave(self._updated[-3])

    def _bring(self, state: StateDict | None) -> None:
        """And those that were updated behind it in the last step."""
        self._store.bring(state)
        self._store.bring_ahead(self._order[len(self._updated) + 1 :])

    # -- in the backward pass

    def _hook_parameters(self) -> None:
        import torch

        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.requires_grad and parameter not in self._accumulators:
                    # What adds to parameter.grad: its hooks run when the gradient is complete. It lives as long as it is kept.
                    with torch.enable_grad():
                        accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
                    accumulator.register_hook(lambda *_, parameter=parameter: self._apply(parameter))
                    self._accumulators[parameter] = accumulator

    def _apply(self, parameter: torch.Tensor) -> None:
        group = next((each for each in self._optimizer.param_groups if any(parameter is one for one in each["params"])), None)
        if group is None or parameter.grad is None:
            return
        if type(self._optimizer.state) is not States:
            self._begin()
        self._surely(lambda: self._update(parameter, group) if parameter.grad is not None else None)


def offload_optimizer(optimizer: torch.optim.Optimizer, to: str, during_backward: bool = False,
                      window: str | int = "64MiB") -> torch.optim.Optimizer:
    """Keeps an optimizer's state (momentum, moments) on a disk. Returns the optimizer, which is used as before.

    Args:
        optimizer: any; PyTorch's own (but LBFGS) hold a window of their state at once.
        to: a folder on a fast disk.
        during_backward: whether each parameter is updated as soon as its gradient is complete, which is then dropped, so
            that there are never many gradients. For optimizers that treat each parameter by itself, and steps with one
            backward pass, without clipping of all gradients.
        window: bytes of state that may be on its way at once, in each direction.

    Whoever looks at the state (``optimizer.state``, ``state_dict()``) has it in memory. Errors of the disk are raised when
    the step is complete: what could not leave stays in memory.
    """
    optimizer.offloaded = OffloadedOptimizer(optimizer, to, during_backward, window)  # type: ignore[attr-defined]
    return optimizer


def _is_of(optimizer: torch.optim.Optimizer, names: tuple[str, ...]) -> bool:
    """One of PyTorch's own of these names; what others make of them may do anything."""
    import torch

    if any(group.get("differentiable") for group in optimizer.param_groups):
        return False  # a graph of the step: it is one
    own = [getattr(torch.optim, name, None) for name in names]
    for kind in type(optimizer).__mro__:
        if kind in own:
            return True
        if vars(kind).keys() - {"__module__", "__doc__", "__init__"}:
            return False
    return False


def _same(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    return one is other or bool(one == other)

"""``sluice.offload_optimizer(optimizer, to="/fast/disk")``: what an optimizer keeps of each parameter is on a disk.

Adam keeps two values of each weight, and touches them once a step. Here they come from the disk shortly before their
parameter is updated and go back behind it, a window of them at a time. The update is the optimizer's own code, called for
one parameter after the other, so its bits are those of PyTorch: for every optimizer whose step treats each parameter by
itself, such as SGD, Adam, AdamW. These three treat each element by itself, so a large parameter (an embedding) is updated
part after part: neither its whole state nor what the update makes on the way are ever there at once.

Threads: one at a time; the hooks of a backward pass run where autograd runs them.
"""

from __future__ import annotations

import os
import types
from collections import deque

from sluice.memory import pool, storage_of
from sluice.sizes import parse_size


VECTORS = 64  # elements: a multiple of what any processor computes at once


class _State:
    """What an optimizer keeps of a parameter, or of the elements [begin, end) of one, as far as it can leave."""

    __slots__ = ("parameter", "begin", "end", "values", "tensors", "ids", "place")

    def __init__(self, parameter, begin=0, end=None):
        self.parameter, self.begin, self.end = parameter, begin, end
        self.values: dict = {}  # of a part, as optimizer.state has them of a whole parameter
        self.tensors: list = []
        self.ids: list[int] = []
        self.place = "here"  # leaving, away, coming

    def nbytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors)

    def view(self):
        """The part of the parameter, with its gradient, as a parameter of its own."""
        part = self.parameter.detach().view(-1)[self.begin : self.end]
        part.grad = self.parameter.grad.view(-1)[self.begin : self.end]
        return part


class OffloadedOptimizer:
    """See :func:`offload_optimizer`."""

    def __init__(self, optimizer, to: str, during_backward: bool, window: str | int):
        import torch

        self._memory = pool()
        if not os.path.isdir(to):
            raise FileNotFoundError(f"{to}: no such folder, and the optimizer's state is to go there")
        self._optimizer, self._folder = optimizer, to
        self._window = parse_size(window)
        self._store = None
        self._states: dict[object, list[_State]] = {}  # of a parameter: one, or its parts
        self._leaving: deque[_State] = deque()
        self._coming: deque[_State] = deque()
        self._order: list[_State] = []  # in which they were updated in the last step
        self._updated: list[_State] = []  # in this one
        self._plain_step = type(optimizer).step
        self._threads = torch.get_num_threads()
        self._each_element_by_itself = type(optimizer) in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)
        # Of the optimizer itself: schedules of learning rates count its steps there.
        optimizer.step = types.MethodType(lambda _, closure=None: self.step(closure), optimizer)
        for name in ("state_dict", "load_state_dict", "add_param_group"):
            self._bring_all_before(name)
        self._accumulators = self._update_during_backward() if during_backward else []

    # -- what the user calls

    def step(self, closure=None):
        """As the optimizer's own; parameters that the backward pass has updated have no gradient left, and are done."""
        import torch

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)
        self._order, self._updated = self._updated, []
        return loss

    def bring_all(self) -> None:
        """Everything into memory, to look at it or to save it."""
        states = [state for parts in self._states.values() for state in parts]
        for state in states:
            self._bring(state)
        for state in states:
            self._wait_for(state)
        for parameter, parts in self._states.items():
            if len(parts) > 1:
                self._optimizer.state[parameter] = _joined(parameter, [part.values for part in parts])

    # -- one parameter

    def _update(self, parameter, group) -> None:
        states = self._states.get(parameter)
        if states is None:
            states = self._states[parameter] = self._parts_of(parameter)
        if len(states) > 1:
            self._take_parts(parameter, states)
        for state in states:
            self._bring(state)
            self._bring_ahead(state)
            self._wait_for(state)
            self._run_plain_step(state, group)
            self._updated.append(state)
            self._leave(state)

    def _parts_of(self, parameter) -> list[_State]:
        """Whole vectors, so that elements meet the same instructions as in the whole parameter: the same bits."""
        count, grain = parameter.numel(), VECTORS * self._threads
        part = self._window // 4 // parameter.element_size() // grain * grain
        alike = parameter.is_contiguous() and parameter.grad.is_contiguous() and not parameter.grad.is_sparse
        if self._each_element_by_itself and alike and count % grain == 0 and 0 < part < count:
            return [_State(parameter, begin, min(begin + part, count)) for begin in range(0, count, part)]
        return [_State(parameter)]

    def _take_parts(self, parameter, states) -> None:
        """Of a state that is whole: one that was loaded, or looked at."""
        whole = self._optimizer.state.pop(parameter, None)
        for state in states if whole else []:
            self._wait_for(state)
            state.values = {name: _part(value, parameter, state) for name, value in whole.items()}

    def _run_plain_step(self, state: _State, group) -> None:
        optimizer, groups = self._optimizer, self._optimizer.param_groups
        parameter = state.parameter if state.end is None else state.view()
        if state.end is not None and state.values:
            optimizer.state[parameter] = state.values
        optimizer.param_groups = [{**group, "params": [parameter]}]
        try:
            self._plain_step(optimizer)
        finally:
            optimizer.param_groups = groups
            if state.end is not None:
                state.values = optimizer.state.pop(parameter, {})

    def _update_during_backward(self) -> list:
        accumulators = []
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                if not parameter.requires_grad:
                    continue
                # What adds to parameter.grad: its hooks run when the gradient is complete. It lives as long as it is kept.
                accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
                accumulator.register_hook(lambda *_, parameter=parameter, group=group: self._apply(parameter, group))
                accumulators.append(accumulator)
        return accumulators

    def _apply(self, parameter, group) -> None:
        if parameter.grad is None:
            return
        self._update(parameter, group)
        parameter.grad = None

    # -- leaving and coming back

    def _leave(self, state: _State) -> None:
        values = self._optimizer.state[state.parameter] if state.end is None else state.values
        state.tensors = [
            tensor
            for tensor in values.values()
            if hasattr(tensor, "data_ptr") and self._memory.owns(tensor.data_ptr())
            and storage_of(tensor).nbytes() == tensor.numel() * tensor.element_size()
        ]
        if not state.tensors:
            return
        store = self._open_store()
        state.ids = [store.leave(tensor.data_ptr(), storage_of(tensor).nbytes()) for tensor in state.tensors]
        if None in state.ids:
            raise RuntimeError(f"the file of the optimizer's state in {self._folder} is full")
        state.place = "leaving"
        self._leaving.append(state)
        while sum(each.nbytes() for each in self._leaving) > self._window:
            self._finish_leaving(self._leaving[0])
        while self._leaving and all(store.left(each) for each in self._leaving[0].ids):
            self._finish_leaving(self._leaving[0])

    def _finish_leaving(self, state: _State) -> None:
        for tensor, each in zip(state.tensors, state.ids):
            self._store.wait_left(each)
            storage_of(tensor).resize_(0)
        state.place = "away"
        self._leaving.remove(state)

    def _bring_ahead(self, state: _State) -> None:
        """Of those that were updated behind this one in the last step, as many as the window holds."""
        position = len(self._updated) + 1
        room = self._window - sum(each.nbytes() for each in self._coming)
        for each in self._order[position:]:
            if each.place == "coming":
                continue
            if each.place != "away" or each.nbytes() > room:
                return
            self._bring(each)
            room -= each.nbytes()

    def _bring(self, state: _State) -> None:
        if state.place == "leaving":
            self._finish_leaving(state)
        if state.place != "away":
            return
        for tensor, each in zip(state.tensors, state.ids):
            storage_of(tensor).resize_(tensor.numel() * tensor.element_size())
            self._store.bring(each, tensor.data_ptr())
        state.place = "coming"
        self._coming.append(state)

    def _wait_for(self, state: _State) -> None:
        if state.place != "coming":
            return
        for each in state.ids:
            self._store.wait_here(each)
            self._store.forget(each)
        state.place, state.ids = "here", []
        self._coming.remove(state)

    def _bring_all_before(self, name: str) -> None:
        plain = getattr(self._optimizer, name)

        def called(*arguments, **more):
            self.bring_all()
            return plain(*arguments, **more)

        setattr(self._optimizer, name, called)

    def _open_store(self):
        if self._store is None:
            from sluice import _core

            weights = sum(p.numel() * 4 for group in self._optimizer.param_groups for p in group["params"])
            self._store = _core.SavedStore(self._folder, 3 * weights + 2 * self._window)
        return self._store


def _part(value, parameter, state: _State):
    if not hasattr(value, "numel") or value.numel() != parameter.numel():
        return value.clone() if hasattr(value, "clone") else value  # a number of steps: each part counts its own
    return value.view(-1)[state.begin : state.end].clone()


def _joined(parameter, parts: list[dict]) -> dict:
    """The state of a whole parameter."""
    import torch

    sizes = [sum(part[name].numel() for part in parts) if torch.is_tensor(parts[0][name]) else 0 for name in parts[0]]
    return {
        name: torch.cat([part[name] for part in parts]).view_as(parameter) if size == parameter.numel() else parts[0][name]
        for name, size in zip(parts[0], sizes)
    }


def offload_optimizer(optimizer, to: str, during_backward: bool = False, window: str | int = "64MiB"):
    """Keeps an optimizer's state (momentum, moments) on a disk. Returns the optimizer, which is used as before.

    Args:
        optimizer: of PyTorch, whose step treats each parameter by itself: SGD, Adam, AdamW and most others.
        to: a folder on a fast disk.
        during_backward: whether each parameter is updated as soon as its gradient is complete, which is then dropped, so
            that there are never many gradients. For steps with one backward pass, without clipping of all gradients.
        window: bytes of state that may be on its way at once, in each direction.

    ``state_dict()`` brings everything back first; so do ``load_state_dict()`` and ``add_param_group()``.
    """
    optimizer.offloaded = OffloadedOptimizer(optimizer, to, during_backward, window)
    return optimizer

"""One parameter's part of an optimizer's step, all of it or nothing of it, wherever an exception comes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from sluice.elsewhere import Elsewhere, StateDict, States

if TYPE_CHECKING:
    import torch


class OneParameter:
    """An optimizer's own step, of one parameter alone. The optimizer's groups and state stay as they are meanwhile; all its
    other attributes are the optimizer's."""

    def __init__(self, optimizer: torch.optim.Optimizer):
        kind = type(optimizer)
        self._groups: list[dict] = []
        self._states: Any = None
        own = {"param_groups": property(lambda _: self._groups), "state": property(lambda _: self._states)}
        self._step = kind.step
        self._alone = object.__new__(type(kind.__name__, (kind,), own))
        self._alone.__dict__ = optimizer.__dict__

    def step(self, parameter: torch.Tensor, group: dict, states: Any) -> dict:
        """What it wrote to its group."""
        given = {**group, "params": [parameter]}
        self._groups, self._states = [given], states
        self._step(self._alone)
        self._groups, self._states = [], None
        return {key: value for key, value in given.items() if key != "params" and group.get(key, self) is not value}


class Undo:
    """What a parameter and its state were before an update. The disk still has what came from it."""

    def __init__(self, parameter: torch.Tensor, states: States, with_gradient: bool):
        self._parameter, self._states = parameter, states
        self._state: StateDict | None = dict.get(states, parameter)
        changing = [parameter, parameter.grad] if with_gradient else [parameter]
        self._tensors = [(each, each.detach().clone()) for each in changing]
        kept = [] if self._state is None else self._state.kept()
        self._values = {key: self._note(self._state, key, value) for key, value in kept}

    def _note(self, state: StateDict, key: Any, value: Any) -> Any:
        import torch

        if type(value) is Elsewhere and not value.leaving:
            return value
        value = state[key]
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            self._tensors.append((value, value.detach().clone()))
            return value
        return copy.deepcopy(value)

    def restore(self) -> None:
        import torch

        with torch.no_grad():
            for tensor, before in self._tensors:
                tensor.copy_(before)
        if self._state is None:
            self._states.pop(self._parameter, None)
            return
        self._state.put(self._values)
        dict.__setitem__(self._states, self._parameter, self._state)


class Update:
    """Of a parameter, in one step: which of its parts are updated, and what of the one that is just being updated was."""

    def __init__(self, parameter: torch.Tensor, ranges: list[tuple[int, int]], is_first: bool):
        self.parameter, self.ranges, self.is_first = parameter, ranges, is_first
        self.written: dict = {}  # to its group
        self._done = 0  # parts
        self._undo: tuple[int, Undo] | None = None  # of the part with that number
        self.note_gradient()

    def drop_gradient(self) -> None:
        self.parameter.grad = None
        self.note_gradient()

    def note_gradient(self) -> None:
        self._gradient = self.parameter.grad
        self._version = None if self._gradient is None else self._gradient._version

    def is_of(self, gradient: torch.Tensor) -> bool:
        return self._gradient is gradient and self._version == gradient._version

    @property
    def complete(self) -> bool:
        return self._done == len(self.ranges)

    @property
    def next(self) -> int:
        """The part whose turn it is."""
        return self._done

    def run(self, optimizer: OneParameter, group: dict, states: States, part: StateDict | None) -> None:
        """The next part's step. `part`: its state, where it is not the parameter's own in `states`."""
        parameter = self.parameter
        if part is not None:
            parameter, states = self._view(), States()
            dict.__setitem__(states, parameter, part)
        self._undo = (self._done, Undo(parameter, states, with_gradient=bool(group.get("foreach"))))
        self.written.update(optimizer.step(parameter, group, states))
        self.note_gradient()
        self._done += 1  # from here on it is done
        self._undo = None

    def take_back(self) -> None:
        """What an exception has left half done."""
        if self._undo is not None and self._undo[0] == self._done:
            self._undo[1].restore()
            self.note_gradient()
        self._undo = None

    def _view(self) -> torch.Tensor:
        """The part, with its gradient, as a parameter of its own."""
        begin, end = self.ranges[self._done]
        part = self.parameter.detach().view(-1)[begin:end]
        part.grad = self.parameter.grad.view(-1)[begin:end]
        return part

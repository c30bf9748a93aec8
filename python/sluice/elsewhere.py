"""What an optimizer keeps of its parameters, part of it elsewhere: dictionaries that bring it when somebody looks.

A tensor is either here, an ordinary one, or an Elsewhere, which nobody gets to see. It leaves only while nobody but its
dictionary has it: neither the tensor, nor a view, nor its memory. So whoever has one has the value, and what is changed counts.
"""

from __future__ import annotations

import sys
import weakref
from collections import defaultdict
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Callable, Iterator

from sluice.memory import ordinary_tensors, pool, storage_of

if TYPE_CHECKING:
    import torch


class Elsewhere:
    """A tensor that is away, or on its way. A look that an exception ends may be repeated."""

    __slots__ = ("nbytes", "_like", "_parked")

    def __init__(self, tensor: torch.Tensor, store: Any):
        self.nbytes = tensor.numel() * tensor.element_size()
        self._like = (tensor.size(), tensor.stride(), tensor.dtype)
        self._parked = store.park(tensor, tensor.data_ptr(), self.nbytes)

    @property
    def leaving(self) -> bool:
        return self._parked is not None and self._parked.leaving

    @property
    def coming(self) -> bool:
        return self._parked is not None and self._parked.coming

    def left(self) -> bool:
        return not self.leaving or self._parked.left()

    def finish_leaving(self) -> None:
        if self.leaving:
            self._parked.finish_leaving()

    def bring(self) -> None:
        """Begins to come, where it is away."""
        import torch

        if self.leaving or self.coming:
            return
        with ordinary_tensors():
            size, stride, dtype = self._like
            tensor = torch.empty_strided(size, stride, dtype=dtype)
        self._parked.bring(tensor, tensor.data_ptr())

    def here(self) -> torch.Tensor:
        """Waits. The disk keeps what it has, for Undo."""
        if self.leaving:
            return self._parked.memory
        self.bring()
        return self._parked.wait_here()

    def stay(self) -> None:
        """Its memory is somebody else's again: it does not leave."""
        if self.leaving:
            self._parked = None


class StateDict(MutableMapping, dict):
    """Of a parameter, or of a part of one. Of a parameter that is updated in parts: what its parts have, put together by
    whoever looks."""

    def __init__(self, values: Any = ()):
        dict.__init__(self, values)
        self.parts: list[StateDict] | None = None
        self.ranges: list[tuple[int, int]] = []
        self.shape: Any = None

    def __getitem__(self, key: Any) -> Any:
        self._join()
        value = dict.__getitem__(self, key)
        if type(value) is Elsewhere:
            tensor = value.here()
            dict.__setitem__(self, key, tensor)
            value.stay()
            return tensor
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._join()
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: Any) -> None:
        self._join()
        dict.__delitem__(self, key)

    def __iter__(self) -> Iterator:
        self._join()
        return dict.__iter__(self)

    def __len__(self) -> int:
        self._join()
        return dict.__len__(self)

    def __contains__(self, key: Any) -> bool:
        self._join()
        return dict.__contains__(self, key)

    def __or__(self, other: Any) -> dict:
        return dict(self) | dict(other)

    def __ror__(self, other: Any) -> dict:
        return dict(other) | dict(self)

    def __ior__(self, other: Any) -> StateDict:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return repr(dict(self))

    def clear(self) -> None:
        self.parts = None
        dict.clear(self)

    def copy(self) -> dict:
        return dict(self)

    def __reduce_ex__(self, _: Any) -> Any:
        return dict, (dict(self),)

    # -- for whoever lets tensors leave

    def is_empty(self) -> bool:
        """Without putting its parts together."""
        return dict.__len__(self) == 0 and all(each.is_empty() for each in self.parts or ())

    def kept(self) -> list[tuple[Any, Any]]:
        """As it is: nothing is brought."""
        return list(dict.items(self))

    def put(self, values: dict) -> None:
        dict.clear(self)
        dict.update(self, values)

    def elsewhere(self) -> list[Elsewhere]:
        return [value for value in dict.values(self) if type(value) is Elsewhere]

    def large(self) -> int:
        """How many tensors could leave."""
        return sum(_can_leave(value) for value in dict.values(self))

    def leave(self, store: Callable[[], Any]) -> list[Elsewhere]:
        """What can leave begins to."""
        begun = []
        for key in list(dict.keys(self)):
            if _can_leave(dict.__getitem__(self, key)) and self._alone(key):
                begun.append(Elsewhere(_in_pool(dict.__getitem__(self, key)), store()))
                dict.__setitem__(self, key, begun[-1])
        return begun

    def split(self, ranges: list[tuple[int, int]], shape: Any, surely: bool) -> list[StateDict] | None:
        """States of the elements of each range, instead of one of all. None where somebody has a tensor of it, unless it is to
        be split surely."""
        if self.parts is None or self.ranges != ranges:
            self._join()
            if not surely and not all(self._can_split(key, shape) for key in self):
                return None
            parts = [StateDict({key: _part(value, shape, each) for key, value in self.items()}) for each in ranges]
            self.ranges, self.shape, self.parts = ranges, shape, parts
        dict.clear(self)
        return self.parts

    def _can_split(self, key: Any, shape: Any) -> bool:
        import torch

        if not isinstance(self[key], torch.Tensor):
            return True
        if type(self[key]) is not torch.Tensor or self[key].layout != torch.strided or not self._alone(key):
            return False
        return self[key].numel() == 1 or self[key].shape == shape and self[key].is_contiguous()

    def _join(self) -> None:
        if self.parts is not None:
            dict.update(self, _joined(self.parts, self.ranges, self.shape))
            self.parts = None

    def _alone(self, key: Any) -> bool:
        """Whether nobody has the tensor but this."""
        import torch

        owners = torch.ops.sluice.owners
        return (sys.getrefcount(dict.__getitem__(self, key)) == _alone()[0]
                and owners(dict.__getitem__(self, key)) == _alone()[1]
                and weakref.getweakrefcount(dict.__getitem__(self, key)) == 0)


class States(defaultdict):
    """optimizer.state. `looked_at`, where there is one, is told which StateDict somebody is given."""

    looked_at: Callable[[StateDict], None] | None = None

    def __init__(self, values: Any = ()):
        super().__init__(dict)
        for key, value in dict(values).items():
            self[key] = value

    def __missing__(self, key: Any) -> StateDict:
        self[key] = {}
        return dict.__getitem__(self, key)

    def __getitem__(self, key: Any) -> Any:
        state = super().__getitem__(key)
        if self.looked_at is not None and type(state) is StateDict:
            self.looked_at(state)
        return state

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, StateDict(value) if isinstance(value, dict) and type(value) is not StateDict else value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *values: Any, **more: Any) -> None:
        for key, value in dict(*values, **more).items():
            self[key] = value

    def copy(self) -> defaultdict:
        return defaultdict(dict, self)

    __copy__ = copy

    def __reduce__(self) -> Any:
        return defaultdict, (dict,), None, None, iter(plain(self).items())


def plain(states: Any) -> dict:
    """With dictionaries and tensors as any other."""
    return {key: dict(value) if type(value) is StateDict else value for key, value in states.items()}


def _can_leave(tensor: Any) -> bool:
    import torch

    if type(tensor) is not torch.Tensor or tensor.layout != torch.strided or tensor.device.type != "cpu":
        return False
    size = tensor.numel() * tensor.element_size()
    extent = 1 + sum((count - 1) * step for count, step in zip(tensor.size(), tensor.stride()))
    known = tensor.requires_grad or tensor.is_conj() or tensor.is_neg() or tensor.is_quantized or tensor.is_inference()
    return (size >= pool().smallest and extent == tensor.numel() and storage_of(tensor).nbytes() == size
            and not known and not tensor.__dict__)


def _in_pool(tensor: torch.Tensor) -> torch.Tensor:
    """With pages of its own. What was there before the pool is copied, once."""
    return tensor if pool().owns(tensor.data_ptr()) else tensor.clone()


def _part(value: Any, shape: Any, elements: tuple[int, int]) -> Any:
    if hasattr(value, "shape") and value.shape == shape:
        return value.view(-1)[slice(*elements)].clone()
    return value.clone() if hasattr(value, "clone") else value  # a number of steps: each part counts its own


def _joined(parts: list[StateDict], ranges: list[tuple[int, int]], shape: Any) -> dict:
    import torch

    def whole(key: Any) -> Any:
        values = [part[key] for part in parts]
        by_element = all(isinstance(value, torch.Tensor) and value.shape == (end - begin,)
                         for value, (begin, end) in zip(values, ranges))
        if not by_element:
            return values[0]
        with ordinary_tensors():
            together = torch.empty(shape, dtype=values[0].dtype)
            torch.cat(values, out=together.view(-1))
        return together

    return {key: whole(key) for key in parts[0]}


_counted: list[Any] = []


def _alone() -> Any:
    """References that Python and PyTorch count of a tensor that only a dictionary has."""
    if not _counted:
        import torch

        kept = {0: torch.zeros(1)}
        _counted.append((sys.getrefcount(dict.__getitem__(kept, 0)), torch.ops.sluice.owners(dict.__getitem__(kept, 0))))
    return _counted[0]

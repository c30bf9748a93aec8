"""A module whose values are elsewhere: fetched when somebody looks at them, written back when somebody changed them.

While a Trainer has them, a module's parameters are placeholders: NaN, in four bytes. Looking at one through the module
(``module.weight``, ``parameters()``, ``state_dict()``, ``module(x)``) fetches what it is now. That stays until the next
step, which takes it back, and takes over what was changed meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable

from sluice.memory import ordinary_tensors

if TYPE_CHECKING:
    import torch

    Transfer = Callable[[str, torch.Tensor], None]


class _Fetching(OrderedDict):
    """Of a module: its parameters or buffers by name. Whoever takes one out gets its present value."""

    mirror: Mirror | None = None

    def __getitem__(self, name: str) -> Any:
        tensor = super().__getitem__(name)
        return tensor if self.mirror is None else self.mirror.fetched(tensor)

    def __setitem__(self, name: str, tensor: Any) -> None:
        if self.mirror is not None and name in self and self.mirror.holds(super().__getitem__(name)) \
                and tensor is not super().__getitem__(name):
            raise RuntimeError(f"'{name}' is replaced while a sluice.Trainer has its value: close the trainer first, or "
                               "change it in place")
        super().__setitem__(name, tensor)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        return [self[name] for name in self]

    def copy(self) -> OrderedDict:
        return OrderedDict(self.items())

    def unwatched(self) -> OrderedDict:
        """With what is there: nothing is fetched."""
        return OrderedDict((name, OrderedDict.__getitem__(self, name)) for name in self)

    def __reduce__(self) -> Any:
        return OrderedDict, (self.items(),)


def is_mirrored(module: torch.nn.Module) -> bool:
    return any(isinstance(part.__dict__[kind], _Fetching) for part in module.modules() for kind in ("_parameters", "_buffers"))


class _Mirrored:
    """One parameter or buffer. Its memory alone says whether its value is here, so that no exception comes in between."""

    __slots__ = ("name", "tensor", "_placeholder")

    def __init__(self, name: str, tensor: torch.Tensor):
        import torch

        self.name, self.tensor = name, tensor
        with ordinary_tensors():
            self._placeholder = torch.full((), float("nan"), dtype=torch.float32)

    def is_away(self) -> bool:
        """No longer where somebody has changed it: the memory of one element can be written to, that of more cannot."""
        if self.tensor.data_ptr() != self._placeholder.data_ptr():
            return False
        return self.tensor.numel() != 1 or bool(self._placeholder.isnan())

    def drop(self) -> None:
        with ordinary_tensors():
            self._placeholder.fill_(float("nan"))
            self.tensor.data = self._placeholder.expand(self.tensor.shape)


class Mirror:
    """Of those values of `module` that `read` and `write` know.

    Args:
        names: as ``module.state_dict()`` has them; a tied parameter by any of its names.
        read: (name, tensor) fills the tensor, fp32 and contiguous, with the present value.
        write: (name, tensor) makes the tensor the present value.
    """

    def __init__(self, module: torch.nn.Module, names: set[str], read: Transfer, write: Transfer):
        self._module, self._read, self._write = module, read, write
        self._by_tensor: dict[int, _Mirrored] = {}
        for name, tensor in module.state_dict(keep_vars=True).items():
            if name in names and not self.holds(tensor):
                self._by_tensor[id(tensor)] = _Mirrored(name, tensor)
        self._parts = list(module.modules())
        self._watched = [(part, kind) for part in self._parts for kind in ("_parameters", "_buffers") if self._watch(part, kind)]
        self._hooks = [part.register_forward_pre_hook(self._fetch_flat) for part in self._parts if hasattr(part, "_flat_weights")]

    def _watch(self, part: torch.nn.Module, kind: str) -> bool:
        plain = part.__dict__[kind]
        if not any(self.holds(tensor) for tensor in plain.values()):
            return False
        watching = _Fetching(plain)
        watching.mirror = self
        part.__dict__[kind] = watching
        return True

    def _fetch_flat(self, part: torch.nn.Module, _: Any) -> None:
        """A recurrent layer keeps its parameters in a list, too, and computes with that."""
        for tensor in part._flat_weights:
            self.fetched(tensor)

    def holds(self, tensor: Any) -> bool:
        each = self._by_tensor.get(id(tensor))
        return each is not None and each.tensor is tensor

    def name_of(self, tensor: Any) -> str | None:
        return self._by_tensor[id(tensor)].name if self.holds(tensor) else None

    def release(self) -> None:
        """What is here leaves; what was changed here is written first."""
        if [id(each) for each in self._module.modules()] != [id(each) for each in self._parts]:
            raise RuntimeError("a part of the module was replaced while a sluice.Trainer has its values: close it first")
        for each in self._by_tensor.values():
            if not each.is_away():
                self._write_if_changed(each)
                each.drop()

    def drop(self) -> None:
        """What is here leaves; it is what `read` would give."""
        for each in self._by_tensor.values():
            each.drop()

    def _write_if_changed(self, each: _Mirrored) -> None:
        """Changes through .data or numpy leave no trace, so values are compared."""
        import torch

        here = each.tensor.detach().float().contiguous()
        now = torch.empty(here.shape, dtype=torch.float32)
        self._read(each.name, now)
        if not torch.equal(here, now):
            self._write(each.name, here)

    def fetched(self, tensor: Any) -> Any:
        """The same tensor, with its present value."""
        each = self._by_tensor.get(id(tensor))
        if each is not None and each.tensor is tensor and each.is_away():
            import torch

            with ordinary_tensors():
                value = torch.empty(tensor.shape, dtype=torch.float32)
                self._read(each.name, value)
                tensor.data = value
        return tensor

    def end(self) -> None:
        """The module is an ordinary one again, with its present values; with NaN where they cannot be read, which is the error."""
        import torch

        problem: Exception | None = None
        for each in self._by_tensor.values():
            try:
                self.fetched(each.tensor)
            except Exception as unreadable:
                problem = problem or unreadable
                each.tensor.data = each.tensor.detach().clone(memory_format=torch.contiguous_format)
        for part, kind in self._watched:
            part.__dict__[kind] = part.__dict__[kind].unwatched()
        for hook in self._hooks:
            hook.remove()
        self._watched, self._hooks, self._by_tensor = [], [], {}
        if problem is not None:
            raise problem

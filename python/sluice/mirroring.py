"""A module whose values are elsewhere: fetched when somebody looks at them, written back when somebody changed them.

While a Trainer has them, a module's parameters are placeholders: NaN, in four bytes. Looking at one through the module
(``module.weight``, ``parameters()``, ``state_dict()``, ``module(x)``) fetches what it is now. That stays until the next
step, which takes it back, and takes over what was changed meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Callable


class _Fetching(OrderedDict):
    """Of a module: its parameters or buffers by name. Whoever takes one out gets its present value."""

    mirror: Mirror

    def __getitem__(self, name):
        return self.mirror.fetched(super().__getitem__(name))

    def get(self, name, default=None):
        return self[name] if name in self else default

    def pop(self, name, *default):
        return self.mirror.fetched(super().pop(name, *default))

    def items(self):
        return [(name, self[name]) for name in self]

    def values(self):
        return [self[name] for name in self]

    def copy(self):
        return OrderedDict(self.items())

    def __reduce__(self):
        return OrderedDict, (list(self.items()),)


class _Mirrored:
    """One parameter or buffer."""

    __slots__ = ("name", "tensor", "fetched", "version", "address")

    def __init__(self, name, tensor):
        self.name, self.tensor = name, tensor
        self.fetched, self.version, self.address = True, tensor._version, tensor.data_ptr()

    def changed(self) -> bool:
        return self.tensor._version != self.version or self.tensor.data_ptr() != self.address


class Mirror:
    """Of those values of `module` that `read` and `write` know.

    Args:
        names: as ``module.state_dict()`` has them.
        read: (name, tensor) fills the tensor, fp32 and contiguous, with the present value.
        write: (name, tensor) makes the tensor the present value.
    """

    def __init__(self, module, names: set[str], read: Callable, write: Callable):
        self._read, self._write = read, write
        self._by_tensor: dict[int, _Mirrored] = {}
        self._replaced: list[tuple[object, str, OrderedDict]] = []
        for prefix, part in module.named_modules():
            for kind in ("_parameters", "_buffers"):
                self._watch(part, kind, prefix, names)

    def _watch(self, part, kind: str, prefix: str, names: set[str]) -> None:
        plain = part.__dict__[kind]
        found = {f"{prefix}.{each}" if prefix else each: each for each in plain}
        if not names & found.keys():
            return
        for name, each in found.items():
            tensor = plain[each]
            if name in names and id(tensor) not in self._by_tensor:
                self._by_tensor[id(tensor)] = _Mirrored(name, tensor)
        watching = _Fetching(plain)
        watching.mirror = self
        part.__dict__[kind] = watching
        self._replaced.append((part, kind, plain))

    def release(self) -> None:
        """What is here leaves; what was changed here is written first."""
        import torch

        for each in self._by_tensor.values():
            if not each.fetched:
                continue
            if each.changed():
                self._write(each.name, each.tensor.data.float().contiguous())
            each.tensor.data = torch.full((), float("nan")).expand(each.tensor.shape)
            each.fetched = False

    def fetched(self, tensor):
        """The same tensor, with its present value."""
        each = self._by_tensor.get(id(tensor))
        if each is not None and not each.fetched and each.tensor is tensor:
            import torch

            value = torch.empty(tensor.shape)
            self._read(each.name, value)
            tensor.data = value
            each.fetched, each.version, each.address = True, tensor._version, tensor.data_ptr()
        return tensor

    def name_of(self, tensor) -> str | None:
        each = self._by_tensor.get(id(tensor))
        return None if each is None else each.name

    def end(self) -> None:
        """The module is an ordinary one again, with its present values."""
        for each in self._by_tensor.values():
            self.fetched(each.tensor)
        for part, kind, plain in self._replaced:
            part.__dict__[kind] = plain
        self._replaced = []
        self._by_tensor = {}

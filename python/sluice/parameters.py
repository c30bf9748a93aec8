"""``sluice.offload_parameters(module, fast="1GiB", to="/fast/disk")``: weights that do not fit stay on a disk.

Their memory is a pager's (sluice/memory/paging): whoever touches a weight has it, by whatever name and from whatever code; what
comes next is read before it is touched, because the last steps say what comes; what is used last of all makes room. So nothing of a
module is wrapped or hooked but the beginning of its forward pass, and its bits are PyTorch's.

Weights of a checkpoint are read in place (weight_files.py): a module made on the "meta" device is never in memory as a whole.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator

from sluice.sizes import parse_size
from sluice.weight_files import Located, locate

if TYPE_CHECKING:
    import torch

_ALIGNED = 64  # bytes, as PyTorch's own memory is


@dataclass
class ParametersReport:
    """Since the weights are on the disk; `step_`: since the last forward pass began."""

    read: int = 0  # bytes
    written: int = 0
    step_read: int = 0
    step_written: int = 0
    waits: int = 0  # touches that had to wait for the disk
    resident: int = 0  # bytes, now


class OffloadedParameters:
    """See :func:`offload_parameters`."""

    def __init__(self, module: torch.nn.Module, fast: str | int, to: str, weights: Any = None):
        from sluice import _core

        if not os.path.isdir(to):
            raise FileNotFoundError(f"{to}: no such folder, and weights are to go there")
        self._module = module
        self.fast = parse_size(fast)
        self.replaced: dict[int, torch.nn.Parameter] = {}  # parameters that were on "meta", by their ids
        located = {} if weights is None else locate(weights)
        self._own = _tensors_of(module, located)
        _refuse_what_is_missing(module, located, self._own)
        segments, places = _lay_out(self._own, located)
        self.bytes = sum(size for _, _, size, _ in segments)
        self._homes: dict[int, tuple[Any, int]] = {}  # of each parameter: its segment, and where it begins there
        self._pages = _core.PagedMemory(segments, self.fast, to) if segments else None
        self._segments = [self._pages.segment(number) for number in range(len(segments))]
        for each in self._own:
            self._move(each, *places[each.key])
        _read_buffers(module, located)
        self._before = self._counts()
        module.register_forward_pre_hook(lambda *_: self._begin_step())

    # -- what the user calls

    def report(self) -> ParametersReport:
        counts, before = self._counts(), self._before
        return ParametersReport(counts[0], counts[1], counts[0] - before[0], counts[1] - before[1], counts[2], counts[3])

    def set_fast(self, fast: str | int) -> None:
        """From now on; what is beyond it leaves."""
        self.fast = parse_size(fast)
        if self._pages is not None:
            self._pages.set_resident(self.fast)

    # -- inside

    def _counts(self) -> tuple[int, int, int, int]:
        if self._pages is None:
            return 0, 0, 0, 0
        counts = self._pages.counts()
        return counts.read, counts.written, counts.waits, counts.resident

    def _begin_step(self) -> None:
        """Raises what went wrong on the disk. Weights that were replaced (another type, another tensor) go to the disk again."""
        if self._pages is None:
            return
        self._pages.check()
        self._before = self._counts()
        for each in self._own:
            if each.parameter.data_ptr() != each.address and each.parameter.device.type == "cpu":
                self._take_again(each)

    def _take_again(self, own: _Own) -> None:
        """Where it fits in its old place; else it stays in memory."""
        import torch

        parameter = own.parameter
        segment, offset = self._homes[id(parameter)]
        size = parameter.numel() * parameter.element_size()
        if not 0 < size <= own.nbytes or offset % parameter.element_size() or not own.may_change:
            return
        home = torch.frombuffer(segment, dtype=parameter.dtype, count=parameter.numel(), offset=offset).view(parameter.shape)
        with torch.no_grad():
            home.copy_(parameter.data)
        parameter.data = home
        own.address = home.data_ptr()

    def _move(self, own: _Own, number: int, offset: int) -> None:
        """One parameter's values to its place; where they come from a file they are there already."""
        import torch

        segment, parameter = self._segments[number], own.parameter
        if own.extent == 0:
            return
        flat = torch.frombuffer(segment, dtype=own.dtype, count=own.extent, offset=offset)
        home = flat.as_strided(own.shape, own.stride)
        if own.located is None:
            with torch.no_grad():
                home.copy_(parameter.data)
        if parameter.is_meta:
            parameter = self._replace(own, home)
        else:
            parameter.data = home
        own.parameter, own.address = parameter, home.data_ptr()
        self._homes[id(parameter)] = (segment, offset)

    def _replace(self, own: _Own, home: torch.Tensor) -> torch.nn.Parameter:
        import torch

        made = torch.nn.Parameter(home, requires_grad=own.parameter.requires_grad)
        self.replaced[id(own.parameter)] = made
        for holder in self._module.modules():
            for name, each in list(holder._parameters.items()):
                if each is own.parameter:
                    setattr(holder, name, made)  # which recurrent layers note
        return made


class _Own:
    """A parameter, under however many names."""

    def __init__(self, name: str, parameter: torch.nn.Parameter, located: Located | None):
        self.name, self.parameter, self.located = name, parameter, located
        like: Any = parameter if located is None else located
        self.dtype, self.shape = like.dtype, tuple(like.shape)
        self.stride = tuple(parameter.stride()) if located is None else located.stride
        self.extent = _extent(self.shape, self.stride)
        self.nbytes = self.extent * parameter.element_size()
        self.key = id(parameter)
        self.address = 0

    @property
    def may_change(self) -> bool:
        return self.parameter.requires_grad


def _extent(shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return 0 if 0 in shape else 1 + sum((count - 1) * step for count, step in zip(shape, stride))


def _named(module: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str, str, Any]]:
    """(holder, name there, whole name, tensor) of parameters and buffers, under each of their names."""
    for prefix, holder in module.named_modules():
        for own in (holder._parameters, holder._buffers):
            for name, each in own.items():
                yield holder, name, f"{prefix}.{name}" if prefix else name, each


def _tensors_of(module: torch.nn.Module, located: dict[str, Located]) -> list[_Own]:
    """Each once. One that several names share is in a checkpoint under one of them."""
    names: dict[int, list[str]] = {}
    parameters = {}
    for holder, name, whole, each in _named(module):
        if each is not None and name in holder._parameters:
            parameters[id(each)] = each
            names.setdefault(id(each), []).append(whole)
    own = []
    for key, parameter in parameters.items():
        name = next((each for each in names[key] if each in located), names[key][0])
        own.append(_Own(name, _checked(name, parameter), located.get(name)))
    return own


def _checked(name: str, parameter: torch.nn.Parameter) -> torch.nn.Parameter:
    import torch

    plain = parameter.layout == torch.strided and not parameter.is_quantized and not isinstance(
        parameter, torch.nn.parameter.UninitializedTensorMixin)
    if parameter.device.type not in ("cpu", "meta") or not plain:
        raise ValueError(f"'{name}' is a {parameter.layout} tensor on {parameter.device}: sluice.offload_parameters takes plain "
                         "ones in PyTorch's main memory, or on \"meta\" with a checkpoint")
    return parameter


def _refuse_what_is_missing(module: torch.nn.Module, located: dict[str, Located], own: list[_Own]) -> None:
    for each in own:
        if each.located is None and each.parameter.is_meta:
            raise ValueError(f"'{each.name}' is on \"meta\" and no checkpoint has it: give it values, or weights= that name it")
        if each.located is not None and (each.dtype, each.shape) != (each.parameter.dtype, tuple(each.parameter.shape)):
            raise ValueError(
                f"'{each.name}' is {list(each.parameter.shape)} of {each.parameter.dtype}, and {list(each.shape)} of {each.dtype} in "
                f"{each.located.file}: weights are used as they lie there; make the module of that type")
    for holder, name, whole, buffer in _named(module):
        if name in holder._buffers and buffer is not None and buffer.is_meta and whole not in located:
            raise ValueError(f"buffer '{whole}' is on \"meta\" and no checkpoint has it: give it values")
    strange = sorted(located.keys() - {name for _, _, name, _ in _named(module)})
    if strange:
        raise ValueError(f"the checkpoint has '{strange[0]}' ({len(strange)} in all), which the module has not: is it another "
                         "model's, or of a part of it?")


def _lay_out(own: list[_Own], located: dict[str, Located]) -> tuple[list[tuple[str, int, int, bool]], dict[int, tuple[int, int]]]:
    """Segments (file, offset, bytes, whether they change), and of each parameter its segment and its place there."""
    segments: list[tuple[str, int, int, bool]] = []
    places: dict[int, tuple[int, int]] = {}
    for file in sorted({each.file for each in located.values()}):
        there = [each for each in own if each.located is not None and each.located.file == file and each.extent]
        if there:
            begin = min(each.located.offset for each in there)
            end = max(each.located.offset + each.nbytes for each in there)
            segments.append((file, begin, end - begin, any(each.may_change for each in there)))
            places.update({each.key: (len(segments) - 1, each.located.offset - begin) for each in there})
    for changes in (True, False):  # values that the module has
        end = 0
        for each in own:
            if each.key not in places and each.may_change == changes:
                places[each.key] = (len(segments), end)
                end += -(-max(each.nbytes, 1) // _ALIGNED) * _ALIGNED
        if end:
            segments.append(("", 0, end, True))
    return segments, places


def _read_buffers(module: torch.nn.Module, located: dict[str, Located]) -> None:
    """They stay in memory."""
    import torch

    for holder, name, whole, buffer in _named(module):
        if name not in holder._buffers or buffer is None or whole not in located:
            continue
        each = located[whole]
        read = torch.from_file(each.file, dtype=torch.uint8, size=os.path.getsize(each.file))
        size = each.extent * torch.empty(0, dtype=each.dtype).element_size()
        values = read[each.offset : each.offset + size].clone().view(each.dtype).as_strided(each.shape, each.stride)
        holder._buffers[name] = values.clone()


def offload_parameters(module: torch.nn.Module, fast: str | int, to: str, weights: Any = None) -> OffloadedParameters:
    """Keeps a module's parameters on a disk, and `fast` bytes of them in memory. The module is used as before.

    Args:
        module: any; its parameters are in PyTorch's main memory, or on "meta" where `weights` has them.
        fast: bytes of memory for parameters ("1GiB"), with all that reading them takes; from 2 MiB on.
        to: a folder on a fast disk, for parameters that change; the file has no name and is gone with the process.
        weights: a checkpoint whose values the parameters get, read in place and never written: safetensors, or a state_dict()
            of ``torch.save``; a file, a list of them, or the index (.json) of a safetensors checkpoint in parts.

    Returns an object with ``report()``: bytes read and written, and touches that waited. Parameters made on "meta" are replaced in the
    module by new ones: make the optimizer behind this, or use :func:`train_in`. Errors of the disk are raised when the next forward pass begins.
    A ValueError names what is wrong with the module or the checkpoint; a SluiceError says what this system does not allow.
    """
    return OffloadedParameters(module, fast, to, weights)

"""Where the tensors of a checkpoint lie in its files, so that they can be read in place.

Two formats keep a tensor's bytes in one piece, as they are in memory: safetensors (a header in JSON, then the bytes) and
what ``torch.save`` writes since PyTorch 1.6 (a zip archive without compression; a pickle says what its members are). Nothing
of a file is executed: the pickle may name tensors and dictionaries, nothing else.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_LOCAL_HEADER = 30  # bytes of a zip archive's member, before its name
_LARGEST_HEADER = 100 << 20  # of safetensors


@dataclass
class Located:
    """A tensor in a file."""

    file: str
    offset: int  # bytes
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]  # elements

    @property
    def extent(self) -> int:
        """Elements from the first to the last one, and with it."""
        if 0 in self.shape:
            return 0
        return 1 + sum((count - 1) * step for count, step in zip(self.shape, self.stride))


def locate(weights: str | os.PathLike | list) -> dict[str, Located]:
    """By name. `weights`: a file of either format, several of them, or the index (.json) of a safetensors checkpoint in
    parts. A ValueError says what is wrong with a file."""
    found: dict[str, Located] = {}
    for path in weights if isinstance(weights, (list, tuple)) else [weights]:
        for file in _files_of(os.path.abspath(os.fspath(path))):
            found.update(_locate_in(file))
    return found


def _files_of(path: str) -> list[str]:
    if not path.endswith(".json"):
        return [path]
    with open(path, encoding="utf-8") as text:
        files = json.load(text).get("weight_map", {}).values()
    return [os.path.join(os.path.dirname(path), name) for name in sorted(set(files))]


def _locate_in(file: str) -> dict[str, Located]:
    with open(file, "rb") as stream:
        beginning = stream.read(8)
    try:
        if zipfile.is_zipfile(file):
            return _of_archive(file)
        if len(beginning) == 8 and 0 < struct.unpack("<Q", beginning)[0] <= min(_LARGEST_HEADER, os.path.getsize(file) - 8):
            return _of_safetensors(file, struct.unpack("<Q", beginning)[0])
    except (KeyError, TypeError, AttributeError, IndexError, UnicodeDecodeError, json.JSONDecodeError, pickle.UnpicklingError,
            zipfile.BadZipFile, struct.error, EOFError) as error:
        raise ValueError(f"{file}: it is damaged, or no checkpoint of tensors: {error}") from error
    raise ValueError(f"{file}: neither safetensors nor a checkpoint of torch.save() of PyTorch 1.6 or later; load it there, and "
                     "save it again")


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    stride = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        stride[axis] = stride[axis + 1] * max(1, shape[axis + 1])
    return tuple(stride)


# -- safetensors

def _of_safetensors(file: str, header_bytes: int) -> dict[str, Located]:
    import torch

    kinds = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
             "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
    with open(file, "rb") as stream:
        stream.seek(8)
        header = json.loads(stream.read(header_bytes))
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        if entry["dtype"] not in kinds:
            raise ValueError(f"{file}: '{name}' is of type {entry['dtype']}, which this PyTorch has not")
        shape = tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        each = Located(file, 8 + header_bytes + begin, kinds[entry["dtype"]], shape, _contiguous(shape))
        if end - begin != each.extent * torch.empty(0, dtype=each.dtype).element_size():
            raise ValueError(f"{file}: '{name}' has {end - begin} bytes, which are not those of {list(shape)}")
        found[name] = each
    return found


# -- torch.save

def _of_archive(file: str) -> dict[str, Located]:
    with zipfile.ZipFile(file) as archive:
        members = {each.filename: each for each in archive.infolist()}
        pickled = next((name for name in members if name.endswith("/data.pkl")), None)
        if pickled is None:
            raise ValueError(f"{file}: an archive without tensors")
        folder = pickled[: -len("data.pkl")]
        read = _TensorsOnly(io.BytesIO(archive.read(pickled)), file, folder, members).load()
    named = next((read[key] for key in ("state_dict", "model", "module") if isinstance(read.get(key), dict)), read)
    return {name: each for name, each in named.items() if isinstance(each, Located)}


class _TensorsOnly(pickle.Unpickler):
    """Tensors as Located."""

    def __init__(self, stream: io.BytesIO, file: str, folder: str, members: dict[str, zipfile.ZipInfo]):
        super().__init__(stream)
        self._file, self._folder, self._members = file, folder, members

    def find_class(self, module: str, name: str) -> Any:
        import torch

        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _located
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, *_: data
        if module == "torch" and name.endswith("Storage"):
            return _dtypes(torch)[name]
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        raise pickle.UnpicklingError(f"it holds a {module}.{name}, which is no tensor: save a state_dict() alone")

    def persistent_load(self, what: Any) -> tuple[str, int, Any]:
        kind, dtype, key = what[0], what[1], what[2]
        member = self._members[f"{self._folder}data/{key}"]
        if kind != "storage" or member.compress_type != zipfile.ZIP_STORED:
            raise pickle.UnpicklingError("its tensors are compressed")
        with open(self._file, "rb") as stream:
            stream.seek(member.header_offset)
            header = stream.read(_LOCAL_HEADER)
        name_bytes, more_bytes = struct.unpack("<HH", header[26:30])
        return self._file, member.header_offset + _LOCAL_HEADER + name_bytes + more_bytes, dtype


def _dtypes(torch: Any) -> dict[str, Any]:
    return {"DoubleStorage": torch.float64, "FloatStorage": torch.float32, "HalfStorage": torch.float16,
            "BFloat16Storage": torch.bfloat16, "LongStorage": torch.int64, "IntStorage": torch.int32,
            "ShortStorage": torch.int16, "CharStorage": torch.int8, "ByteStorage": torch.uint8, "BoolStorage": torch.bool}


def _located(storage: tuple[str, int, Any], offset: int, shape: Any, stride: Any, *_: Any) -> Located:
    import torch

    file, begin, dtype = storage
    return Located(file, begin + offset * torch.empty(0, dtype=dtype).element_size(), dtype, tuple(shape), tuple(stride))

"""A model as the command takes it: by its name, as an ONNX file, or as a module that is captured into one for a while."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, Iterator, Sequence

from sluice.errors import SluiceError
from sluice.exporting import OTHERWISE, batch_size, export
from sluice.temporary import TemporaryFolder


def is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # without it there are no modules, and it is not imported here
    return torch is not None and isinstance(model, torch.nn.Module)


def is_file(model: Any) -> bool:
    """Rather than a built-in model's name."""
    return isinstance(model, os.PathLike) or model.endswith(".onnx") or os.sep in model


@contextlib.contextmanager
def given_model(model: Any, inputs: Any, with_batch: bool) -> Iterator[list[str]]:
    """The command's words for the model; of a module also its batch, where nobody has said another one."""
    with _file_or_name(model, inputs) as (name, is_onnx):
        words = ["--onnx", name] if is_onnx else [name]
        yield words + (["--batch", str(batch_size(inputs))] if is_module(model) and with_batch else [])


@contextlib.contextmanager
def given_models(models: Sequence[Any], inputs: Any, batch_is_said: bool) -> Iterator[list[str]]:
    """The same of several, each NAME or NAME:BATCH. `inputs` are all modules' examples."""
    with contextlib.ExitStack() as files:
        words = []
        for model in models:
            name, _ = files.enter_context(_file_or_name(model, inputs))
            words.append(f"{name}:{batch_size(inputs)}" if is_module(model) and not batch_is_said else name)
        yield words


@contextlib.contextmanager
def _file_or_name(model: Any, inputs: Any) -> Iterator[tuple[str, bool]]:
    if not is_module(model):
        if not isinstance(model, (str, os.PathLike)):
            raise TypeError(f"a model is a name, the path of an ONNX file or a torch.nn.Module, not {type(model).__name__}")
        yield os.fspath(model), is_file(model)
        return
    if inputs is None:
        raise TypeError("a module needs inputs=, an example of a batch: a tensor, or a tuple of them")
    with TemporaryFolder() as folder:
        path = os.path.join(folder, f"{type(model).__name__}.onnx")
        export(model, inputs, path)
        try:
            yield path, True
        except SluiceError as error:
            error.message = error.message.replace(path, type(model).__name__)
            if error.kind == "unsupported" or "cannot be imported" in error.message:
                error.message += f"\n{OTHERWISE}"
            raise

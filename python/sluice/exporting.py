"""A PyTorch module as an ONNX file that Sluice can train (docs/onnx.md)."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

from sluice.errors import SluiceError
from sluice.known_ops import known_ops
from sluice.trainable import keeps_modes

if TYPE_CHECKING:
    import torch

OPSET = 15
_PREFIX = "arg_"  # of the inputs' names in the file, which are then none of parameters
_TARGET = "given_target"  # the same of targets
_MOST_KNOWN = 1024  # elements of a parameter that may say what shape something has
OTHERWISE = "sluice.offload trains the module as it is: it captures nothing"


def export(module: torch.nn.Module, inputs: Any, path: str | os.PathLike[str], loss: Callable | None = None,
           targets: Any = None, weights: str | None = None) -> None:
    """Writes the module as it trains to an ONNX file, and its weights into one beside it.

    Args:
        module: the network; its first output is what the loss is of. It is not changed: modes, buffers and random numbers
            are afterwards what they were.
        inputs: an example of a batch: a tensor [N, ...], a tuple of them, or a dictionary by the names of `forward`'s
            arguments. The first extent becomes the batch, which the file leaves open.
        path: the file.
        loss: of the module's output and `targets`; it becomes the file's only output. None: the file has the module's.
        targets: an example: a tensor [N, ...], a tuple or a dictionary of them; None for a loss of the output alone.
        weights: the file beside it, by default of the same name and ".weights".

    Raises:
        SluiceError: of kind "unsupported", where something of the module cannot be captured.
    """
    import torch

    _refuse_lazy(module)
    tensors = {**graph_inputs(module, inputs), **graph_targets(targets)}
    samples = batch_size(inputs)
    keywords: dict[str, Any] = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    with contextlib.ExitStack() as during:
        during.enter_context(_unchanged(module))
        during.enter_context(_called_by_tensors(module, inputs, loss, targets))
        for each in (known_ops(OPSET), _quick_inference(), torch.random.fork_rng(), warnings.catch_warnings()):
            during.enter_context(each)
        warnings.filterwarnings("ignore", category=UserWarning, module=r"torch\.onnx")
        not_the_users = r"(torch|torchvision|sluice)\b"
        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning, module=not_the_users)
        warnings.filterwarnings("ignore", message=".*train.*mode.*", category=UserWarning)
        warnings.filterwarnings("ignore", message="The shape inference of ", category=UserWarning)
        warnings.filterwarnings("ignore", message="Setting `training` to something other than default is deprecated")
        try:
            torch.onnx.export(
                module,
                tuple(tensors.values()),
                os.fspath(path),
                training=torch.onnx.TrainingMode.PRESERVE if keeps_modes(module) else torch.onnx.TrainingMode.TRAINING,
                export_params=False,
                do_constant_folding=False,
                input_names=list(tensors),
                dynamic_axes={name: {0: "N"} for name, each in tensors.items() if each.dim() > 0 and each.shape[0] == samples},
                opset_version=OPSET,
                **keywords,
            )
        except OSError:  # no room for the file
            raise
        except Exception as why:
            raise _not_captured(module, why) from why
    _add_weights(module, os.fspath(path), weights or f"{os.fspath(path)}.weights", list(tensors))


def _add_weights(module: torch.nn.Module, path: str, weights: str, inputs: Sequence[str]) -> None:
    """All that the file reads beside `inputs`. Straight from memory: PyTorch would copy it several times on the way."""
    import torch

    from sluice import _train

    values = {
        name: value.detach().cpu().contiguous()
        for name, value in module.state_dict(keep_vars=True).items() if isinstance(value, torch.Tensor)
    }
    memory = {name: (value.data_ptr(), value.numel() * value.element_size()) for name, value in values.items()}
    _train.give_inputs_values(path, weights, memory, set(inputs))


@contextlib.contextmanager
def _quick_inference() -> Iterator[None]:
    """Shapes are inferred from shapes: PyTorch writes the values of all weights out for it, twice."""
    from torch import _C

    name = "_jit_pass_onnx_graph_shape_type_inference"
    infer = getattr(_C, name)

    def infer_quickly(graph: Any, parameters: dict[str, Any], opset: int) -> None:
        infer(graph, {each: value for each, value in parameters.items() if value.numel() <= _MOST_KNOWN}, opset)

    setattr(_C, name, infer_quickly)
    try:
        yield
    finally:
        setattr(_C, name, infer)


def batch_size(inputs: Any) -> int:
    """Samples in such an example."""
    return int(_tensors(inputs)[0].shape[0])


def _tensors(inputs: Any) -> list[Any]:
    if isinstance(inputs, dict):
        return list(inputs.values())
    return list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]


def graph_inputs(module: torch.nn.Module, inputs: Any) -> dict[str, torch.Tensor]:
    """The tensors of a batch by the names that they have in the file: those of `forward`'s arguments, by which Sluice
    knows masks and segments, behind a prefix."""
    known = [name for name in inspect.signature(module.forward).parameters if name not in ("args", "kwargs")]
    if isinstance(inputs, dict):
        ordered = [name for name in known if name in inputs] + [name for name in inputs if name not in known]
        return {_PREFIX + name: inputs[name] for name in ordered}
    tensors = _tensors(inputs)
    names = known[: len(tensors)]
    names += [f"input{i}" for i in range(len(names), len(tensors))]
    return {_PREFIX + name: tensor for name, tensor in zip(names, tensors)}


def graph_targets(targets: Any) -> dict[str, torch.Tensor]:
    """The same of a batch's targets."""
    if targets is None:
        return {}
    if isinstance(targets, dict):
        return {f"{_TARGET}_{name}": tensor for name, tensor in targets.items()}
    if isinstance(targets, (tuple, list)):
        return {f"{_TARGET}_{number}": tensor for number, tensor in enumerate(targets)}
    return {_TARGET: targets}


def _like(example: Any, tensors: list[torch.Tensor]) -> Any:
    """The tensors as a tuple, dictionary or single one, as `example` is."""
    if isinstance(example, dict):
        return dict(zip(example, tensors))
    return tuple(tensors) if isinstance(example, (tuple, list)) else tensors[0]


@contextlib.contextmanager
def _called_by_tensors(module: torch.nn.Module, inputs: Any, loss: Callable | None, targets: Any) -> Iterator[None]:
    """The module takes the file's inputs, one after the other, and gives its loss where there is one."""
    names = [name.removeprefix(_PREFIX) for name in graph_inputs(module, inputs)]
    forward, own = module.forward, "forward" in vars(module)

    def called(*tensors: torch.Tensor) -> Any:
        given = tensors[: len(names)]
        output = forward(**dict(zip(names, given))) if isinstance(inputs, dict) else forward(*given)
        if loss is None:
            return output
        value = loss(output) if targets is None else loss(output, _like(targets, list(tensors[len(names) :])))
        if not hasattr(value, "numel") or value.numel() != 1:
            what = [int(extent) for extent in value.shape] if hasattr(value, "shape") else type(value).__name__
            raise ValueError(f"the loss is {what}, not one number")
        return value

    module.forward = called  # type: ignore[method-assign]
    try:
        yield
    finally:
        if own:
            module.forward = forward  # type: ignore[method-assign]
        else:
            del module.forward


def _refuse_lazy(module: torch.nn.Module) -> None:
    from torch.nn.parameter import is_lazy

    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        if is_lazy(value):
            raise SluiceError(f"{type(module).__name__}: {name} has no shape yet: call the module with a batch first")


def _not_captured(module: torch.nn.Module, why: Exception) -> SluiceError:
    lines: Sequence[str] = [line.strip() for line in str(why).splitlines() if line.strip()]
    reason = lines[0].partition(". Please")[0] if lines else type(why).__name__
    return SluiceError(
        f"{type(module).__name__} cannot be captured as ONNX: {reason.rstrip('.')} ({type(why).__name__}). {OTHERWISE}",
        "unsupported",
    )


@contextlib.contextmanager
def _unchanged(module: torch.nn.Module) -> Iterator[None]:
    """Capturing runs the module once, in training mode."""
    import torch

    modes = [(each, each.training) for each in module.modules()]
    buffers = [
        (owner, name, buffer, buffer.detach().clone())
        for owner in module.modules()
        for name, buffer in owner._buffers.items()
        if buffer is not None
    ]
    try:
        yield
    finally:
        for each, training in modes:
            each.training = training
        with torch.no_grad():
            for owner, name, buffer, value in buffers:
                if not torch.equal(buffer, value):  # one that stayed keeps its version, too
                    buffer.copy_(value)
                owner._buffers[name] = buffer

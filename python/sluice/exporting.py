"""A PyTorch module as an ONNX file that Sluice can train (docs/onnx.md)."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from sluice.errors import SluiceError

if TYPE_CHECKING:
    import torch

OPSET = 15
_PREFIX = "arg_"  # of the inputs' names in the file, which are then none of parameters
_MOST_KNOWN = 1024  # elements of a parameter that may say what shape something has
OTHERWISE = "sluice.offload trains the module as it is: it captures nothing"


def export(module: torch.nn.Module, inputs: Any, path: str | os.PathLike[str]) -> None:
    """Writes the module as it trains to an ONNX file, and its weights into one beside it.

    Args:
        module: the network; its first output is what the loss is of. It is not changed: modes, buffers and random numbers
            are afterwards what they were.
        inputs: an example of a batch: a tensor [N, ...], a tuple of them, or a dictionary by the names of `forward`'s
            arguments. The first extent becomes the batch, which the file leaves open.
        path: the file.

    Raises:
        SluiceError: of kind "unsupported", where something of the module cannot be captured.
    """
    import torch

    _refuse_lazy(module)
    arguments, _ = _arguments(module, inputs)
    names = list(graph_inputs(module, inputs))
    keywords: dict[str, Any] = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    with _unchanged(module), _known_draws(), _quick_inference(), torch.random.fork_rng(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module=r"torch\.onnx")
        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning, module="torch")  # not about the user's code
        warnings.filterwarnings("ignore", message=".*train.*mode.*", category=UserWarning)
        warnings.filterwarnings("ignore", message="The shape inference of ", category=UserWarning)
        try:
            torch.onnx.export(
                module,
                arguments,
                os.fspath(path),
                training=torch.onnx.TrainingMode.TRAINING,
                export_params=False,
                do_constant_folding=False,
                input_names=names,
                dynamic_axes={name: {0: "N"} for name in names},
                opset_version=OPSET,
                **keywords,
            )
        except OSError:  # no room for the file
            raise
        except Exception as why:
            raise _not_captured(module, why) from why
    _add_weights(module, os.fspath(path), names)


def _add_weights(module: torch.nn.Module, path: str, inputs: Sequence[str]) -> None:
    """All that the file reads beside `inputs`. Straight from memory: PyTorch would copy it several times on the way."""
    import torch

    from sluice import _train

    values = {
        name: value.detach().cpu().contiguous()
        for name, value in module.state_dict(keep_vars=True).items() if isinstance(value, torch.Tensor)
    }
    memory = {name: (value.data_ptr(), value.numel() * value.element_size()) for name, value in values.items()}
    _train.give_inputs_values(path, memory, set(inputs))


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


@contextlib.contextmanager
def _known_draws() -> Iterator[None]:
    """``bernoulli_(p)`` of stochastic depth, which draws whose branch counts, is a dropout of ones by another scale."""
    import torch
    from torch.onnx import symbolic_helper

    def draws(graph: Any, x: Any, p: Any = None, *_: Any) -> Any:
        kept = symbolic_helper._maybe_get_const(p, "f")
        if not isinstance(kept, float):
            return symbolic_helper._onnx_unsupported("bernoulli of probabilities that are not one number")
        ones = graph.op("ConstantOfShape", graph.op("Shape", x), value_t=torch.tensor([1.0]))
        ratio, training, scale = (graph.op("Constant", value_t=torch.tensor(each)) for each in (1 - kept, True, kept))
        return graph.op("Mul", graph.op("Dropout", ones, ratio, training), scale)

    torch.onnx.register_custom_op_symbolic("aten::bernoulli", draws, OPSET)
    try:
        yield
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::bernoulli", OPSET)


def batch_size(inputs: Any) -> int:
    """Samples in such an example."""
    return int(_tensors(inputs)[0].shape[0])


def _tensors(inputs: Any) -> list[Any]:
    if isinstance(inputs, dict):
        return list(inputs.values())
    return list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]


def _arguments(module: torch.nn.Module, inputs: Any) -> tuple[tuple[Any, ...], list[str]]:
    """As torch.onnx.export takes them, and their names in `forward`, by which Sluice knows masks and segments."""
    tensors = _tensors(inputs)
    known = [name for name in inspect.signature(module.forward).parameters if name not in ("args", "kwargs")]
    if isinstance(inputs, dict):
        return (inputs,), [name for name in known if name in inputs] or list(inputs)
    names = known[: len(tensors)]
    return tuple(tensors), names + [f"input{i}" for i in range(len(names), len(tensors))]


def graph_inputs(module: torch.nn.Module, inputs: Any) -> dict[str, torch.Tensor]:
    """The tensors of a batch by the names that they have in the file."""
    arguments, names = _arguments(module, inputs)
    tensors = [inputs[name] for name in names] if isinstance(inputs, dict) else arguments
    return {_PREFIX + name: tensor for name, tensor in zip(names, tensors)}


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

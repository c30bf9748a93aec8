"""A PyTorch module written as an ONNX file, by a child of this process.

The export runs the forward pass once, which moves running statistics and random numbers; it happens in the child, so the
module here stays as it is, and what exporting takes is not this process's memory.
"""

from __future__ import annotations

import inspect
import os
import pickle
import warnings

OPSET = 15
PREFIX = "arg_"  # of the file's inputs, before the argument's name


def forward_arguments(module, inputs) -> list[tuple[str, object]]:
    """(name, tensor) of each argument of the forward pass. `inputs`: a tensor, several in order, or a dict by name."""
    names = list(inspect.signature(module.forward).parameters)
    if isinstance(inputs, dict):
        return [(name, inputs[name]) for name in names if name in inputs]
    if not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    return list(zip(names, inputs))


def _export(module, inputs, path: str) -> None:
    import torch

    from sluice import _train

    torch.set_num_threads(1)  # the parent's other threads are not here
    arguments = forward_arguments(module, inputs)
    values = tuple(tensor for _, tensor in arguments)
    if isinstance(inputs, dict):
        values = (dict(arguments),)
    module.train()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, values, path, input_names=[PREFIX + name for name, _ in arguments],
            dynamic_axes={PREFIX + name: {0: "N"} for name, tensor in arguments if tensor.dim() > 0}, opset_version=OPSET,
            training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    _train.move_weights_beside(path)


def capture(module, inputs, path: str) -> None:
    """Writes the module's forward pass in training mode to `path`, its weights beside it.

    Args:
        inputs: what ``module(...)`` takes, of one batch: a tensor, a tuple of them, or a dict by argument.
    A RuntimeError says what could not be captured.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        failure = None
        try:
            _export(module, inputs, path)
        except BaseException as problem:  # the child ends here, whatever it is
            failure = f"{type(problem).__name__}: {problem}"
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(failure, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    failure = pickle.loads(answer) if answer else "the exporting process died"
    if failure is not None:
        raise RuntimeError(failure)

"""What a Trainer can take: modules, losses and batches whose captured graph is the step that PyTorch would do.

Whatever a graph cannot show is an error here, so that nothing else is trained than what was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from sluice.mirroring import is_mirrored

if TYPE_CHECKING:
    import torch


IGNORED = -100  # PyTorch's label of what does not count


def only_tensors(batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    import torch

    for name, each in batch.items():
        if not isinstance(each, torch.Tensor):
            raise TypeError(f"{name} is a {type(each).__name__}; a batch is of tensors")
    return batch


def ignored_label(loss: Callable | None, targets: Any) -> int | None:
    """The label that does not count, where Sluice has the loss itself: the mean cross-entropy with classes. Else None: then it
    is captured with the module."""
    import torch

    if loss is None:
        check_classes(targets)
        return IGNORED
    plain = type(loss) is torch.nn.CrossEntropyLoss and loss.weight is None and loss.reduction == "mean"
    classes = isinstance(targets, torch.Tensor) and not targets.is_floating_point()
    return loss.ignore_index if plain and classes and loss.label_smoothing == 0 else None


def check_classes(targets: Any) -> None:
    import torch

    if not isinstance(targets, torch.Tensor):
        raise ValueError(f"the cross-entropy takes a tensor of classes as targets; got {type(targets).__name__}")


def is_trained(parameter: torch.nn.Parameter, optimizer: torch.optim.Optimizer) -> bool:
    return parameter.requires_grad and any(parameter is each for group in optimizer.param_groups for each in group["params"])


def keeps_modes(module: torch.nn.Module) -> bool:
    """Whether some parts train and others are in evaluation mode; else all of it trains."""
    return len({part.training for part in module.modules()}) > 1


def check_module(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    import torch

    if hasattr(optimizer, "offloaded"):
        raise ValueError("the optimizer's state is offloaded, and a sluice.Trainer keeps it in its own memory: give it a plain one")
    if is_mirrored(module) or "state_dict" in vars(optimizer):
        raise RuntimeError("another sluice.Trainer has this module or optimizer: close it first")
    for name, parameter in module.named_parameters():
        if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
            raise ValueError(f"{name} is {parameter.dtype} on {parameter.device}: the trainer takes float32 in main memory")
    own = {id(parameter) for parameter in module.parameters()}
    if any(each.requires_grad and id(each) not in own for group in optimizer.param_groups for each in group["params"]):
        raise ValueError("the optimizer has parameters that are not the module's, such as a loss's: make them part of the module")
    if not any(is_trained(parameter, optimizer) for parameter in module.parameters()):
        raise ValueError("nothing of the module is trained: no parameter wants gradients and is the optimizer's")
    for name, part in module.named_modules():
        _check_part(name, part)


def _check_part(name: str, part: torch.nn.Module) -> None:
    import torch

    kind = type(part).__name__
    if isinstance(part, torch.nn.Embedding):
        if part.max_norm is not None:
            raise ValueError(f"{name} ({kind}) has a max_norm, which no captured graph shows")
        if part.padding_idx is not None and part.weight[part.padding_idx].any():
            raise ValueError(f"{name} ({kind}) has a padding_idx whose row is not zero")
    if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.momentum is None:
        raise ValueError(f"{name} ({kind}) has momentum=None: its running statistics are means over all steps")


def check_inputs(tensors: dict[str, torch.Tensor], given: dict[str, tuple]) -> dict[str, torch.Tensor]:
    """The tensors of a batch by their names in the file. They have to be such as those that were captured.

    Args:
        given: of each, the shape without the batch, and the type.
    """
    if tensors.keys() != given.keys():
        raise ValueError(f"a batch of {', '.join(tensors) or 'nothing'}; the module was captured with {', '.join(given)}")
    for name, tensor in tensors.items():
        shape, kind = given[name]
        if tensor.shape[1:] != shape or tensor.is_floating_point() != kind.is_floating_point:
            raise ValueError(f"{name}: captured with {list(shape)} of {kind} for each sample; got {list(tensor.shape[1:])} "
                             f"of {tensor.dtype}: another Trainer, or sluice.offload")
    return tensors

"""What a Trainer can take: modules, losses and batches whose captured graph is the step that PyTorch would do.

Whatever a graph cannot show is an error here, so that nothing else is trained than what was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.mirroring import is_mirrored

if TYPE_CHECKING:
    import torch


def check_loss(loss: torch.nn.CrossEntropyLoss | None) -> int:
    """The label that does not count."""
    if loss is None:
        return -100
    name = type(loss).__name__
    if name != "CrossEntropyLoss":
        raise ValueError(f"{name}: the trainer's loss is the cross-entropy; with others, train under sluice.offload")
    if loss.weight is not None or loss.reduction != "mean" or loss.label_smoothing != 0:
        raise ValueError("CrossEntropyLoss with weights, label smoothing or another reduction: train under sluice.offload")
    if loss.ignore_index >= 0:
        raise ValueError(f"CrossEntropyLoss with ignore_index={loss.ignore_index}: write one below 0")
    return loss.ignore_index


def check_module(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    import torch

    if is_mirrored(module) or "state_dict" in vars(optimizer):
        raise RuntimeError("another sluice.Trainer has this module or optimizer: close it first")
    if len({part.training for part in module.modules()}) > 1:
        raise ValueError("some parts of the module are in training mode and others are not; the trainer trains all of it")
    updated = {id(each) for group in optimizer.param_groups for each in group["params"]}
    for name, parameter in module.named_parameters():
        if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
            raise ValueError(f"{name} is {parameter.dtype} on {parameter.device}: the trainer takes float32 in main memory")
        if not parameter.requires_grad or id(parameter) not in updated:
            raise ValueError(f"{name} is not trained: the trainer trains all of a module; sluice.offload takes any")
    for name, part in module.named_modules():
        _check_part(name, part)


def _check_part(name: str, part: torch.nn.Module) -> None:
    import torch

    kind = type(part).__name__
    if isinstance(part, torch.nn.Embedding) and (part.padding_idx is not None or part.max_norm is not None):
        raise ValueError(f"{name} ({kind}) has a padding_idx or max_norm, which no captured graph shows")
    if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.momentum is None:
        raise ValueError(f"{name} ({kind}) has momentum=None: its running statistics are means over all steps")


def check_inputs(tensors: dict[str, torch.Tensor], given: dict[str, tuple], notes: list[str]) -> dict[str, torch.Tensor]:
    """The tensors of a batch by their names in the file. They have to be such as those that were captured.

    Args:
        given: of each, the shape without the batch, and the type.
        notes: of the importer, which says there what it took for what no data source fills.
    """
    import torch

    if tensors.keys() != given.keys():
        raise ValueError(f"a batch of {', '.join(tensors) or 'nothing'}; the module was captured with {', '.join(given)}")
    for name, tensor in tensors.items():
        shape, kind = given[name]
        if tensor.shape[1:] != shape or tensor.is_floating_point() != kind.is_floating_point:
            raise ValueError(f"{name}: captured with {list(shape)} of {kind} for each sample; got {list(tensor.shape[1:])} "
                             f"of {tensor.dtype}: another Trainer, or sluice.offload")
        said = next((note for note in notes if note.startswith(f"input '{name}' is ")), "")
        expected = None
        if "all ones" in said:
            expected = torch.ones_like(tensor)
        elif "0, 1, 2" in said:
            expected = torch.arange(tensor.shape[-1], device=tensor.device).expand_as(tensor)
        elif "zero in every step" in said:
            expected = torch.zeros_like(tensor)
        if expected is not None and not torch.equal(tensor.detach().to(expected.dtype), expected):
            raise ValueError(f"{said} in the captured graph, and not in this batch: train under sluice.offload")
    return tensors

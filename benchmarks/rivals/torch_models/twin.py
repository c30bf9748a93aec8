"""What a model's twin is: see the package's docstring."""

from dataclasses import dataclass, replace
from typing import Callable, Tuple

import torch
from torch import nn


@dataclass(frozen=True)
class Sizes:
    """Sluice's ModelOptions; 0 where the model does not have the option."""

    batch: int
    image_size: int = 0
    classes: int = 0  # of language models: the vocabulary
    sequence: int = 0
    width: int = 0
    depth: int = 0
    dropout: float = 0.0


@dataclass(frozen=True)
class Stage:
    """One part of the step: `loss(run, inputs)` is differentiated and the parameters whose names begin with
    `trained_prefix` (all, where it is empty) are updated before the next part runs."""

    loss: Callable
    trained_prefix: str = ""


@dataclass(frozen=True)
class Twin:
    build: Callable[[Sizes], nn.Module]
    inputs: Callable[[Sizes, torch.Generator], Tuple[torch.Tensor, ...]]
    stages: Tuple[Stage, ...]
    defaults: Sizes
    fresh: bool = False  # whether each step has a batch of its own

    def sizes(self, **given):
        """The defaults with what is given (and neither None nor 0; dropout: not None) in their place."""
        unknown = [name for name, value in given.items()
                   if name not in ("batch", "dropout") and value and not getattr(self.defaults, name)]
        if unknown:
            raise ValueError(f"the model has no option {', '.join(unknown)}")
        return replace(self.defaults, **{name: value for name, value in given.items()
                                         if value or (name == "dropout" and value is not None)})


def graph_parameters(model):
    """The tensors of each parameter of Sluice's graph, in the order of their first use: [weight] or [bias], and
    [weight, bias] of a norm, which are rows 0 and 1 of its scale_shift."""
    groups, seen = [], set()
    for module in model.modules():
        own = [parameter for _, parameter in sorted(module.named_parameters(recurse=False), key=order_of_use(module))
               if parameter.requires_grad and id(parameter) not in seen]
        seen.update(map(id, own))
        if isinstance(module, (nn.modules.batchnorm._BatchNorm, nn.LayerNorm)) and own:
            groups.append(own)
        else:
            groups.extend([parameter] for parameter in own)
    return groups


def order_of_use(module):
    """An LSTM layer projects its input (weights, bias) before it uses its recurrent weights."""
    if not isinstance(module, nn.LSTM):
        return lambda named: 0
    uses = ["weight_ih", "bias_ih", "weight_hh", "bias_hh"]
    return lambda named: (named[0].rpartition("_l")[2], uses.index(named[0].rpartition("_l")[0]))


def graph_values(model):
    """One tensor a parameter of Sluice's graph, in its shape: a norm's is [2, C]. Copies."""
    return [torch.stack(group) if len(group) == 2 else group[0].clone()
            for group in ([tensor.detach() for tensor in group] for group in graph_parameters(model))]


def graph_gradients(model):
    """The same of the gradients."""
    return [torch.stack(group) if len(group) == 2 else group[0].clone()
            for group in ([tensor.grad for tensor in group] for group in graph_parameters(model))]


def set_graph_values(model, values):
    """Gives the parameters the values of Sluice's, tensors or arrays in the order of graph_parameters()."""
    groups = graph_parameters(model)
    if len(groups) != len(values):
        raise ValueError(f"the model has {len(groups)} parameters, {len(values)} were given")
    with torch.no_grad():
        for group, value in zip(groups, values):
            value = torch.as_tensor(value)
            for tensor, part in zip(group, value if len(group) == 2 else [value]):
                if tensor.shape != part.shape:
                    raise ValueError(f"a parameter of shape {list(tensor.shape)} was given {list(part.shape)}")
                tensor.copy_(part)


def image_inputs(sizes, generator):
    """Images [N, 3, H, W] and labels [N]."""
    images = torch.randn(sizes.batch, 3, sizes.image_size, sizes.image_size, generator=generator)
    return images, torch.randint(sizes.classes, (sizes.batch,), generator=generator)


def image_loss(run, inputs):
    images, labels = inputs
    return nn.functional.cross_entropy(run(images), labels)


def token_loss(logits, labels):
    """Mean over the labels that are not -1."""
    return nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=-1)


def image_twin(build, image_size, width, depth=0, classes=1000, batch=16):
    defaults = Sizes(batch=batch, image_size=image_size, classes=classes, width=width, depth=depth)
    return Twin(build, image_inputs, (Stage(image_loss),), defaults)

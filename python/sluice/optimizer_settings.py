"""What Sluice's updates need to know of a PyTorch optimizer. What they cannot do is an error that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# Of a group, with the values at which they change nothing.
_PLAIN: dict[str, tuple] = {
    "dampening": (0,), "nesterov": (False,), "maximize": (False,), "amsgrad": (False,),
    "differentiable": (False,), "capturable": (False,),
}


def optimizer_settings(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """name, momentum (beta 1), beta2, epsilon, weight_decay."""
    import torch

    name = type(optimizer).__name__
    if type(optimizer) not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        raise ValueError(f"{name}: the trainer updates by PyTorch's SGD, Adam and AdamW; with others, train under sluice.offload")
    first = optimizer.param_groups[0]
    for group in optimizer.param_groups:
        for key, plain in _PLAIN.items():
            if key in group and group[key] not in plain:
                raise ValueError(f"{name} with {key}={group[key]}: the trainer has no such update; sluice.offload has")
        different = [key for key in ("momentum", "betas", "eps", "weight_decay") if group.get(key) != first.get(key)]
        if different:
            raise ValueError(
                f"{name} with groups of different {different[0]} ({first[different[0]]} and {group[different[0]]}): the "
                "trainer treats all parameters alike; sluice.offload takes any optimizer")
    beta1, beta2 = first.get("betas", (first.get("momentum", 0), 0.999))
    return {
        "name": name.lower(), "momentum": float(beta1), "beta2": float(beta2), "epsilon": float(first.get("eps", 1e-8)),
        "weight_decay": float(first["weight_decay"]), "clip_norm": 0.0,
    }


def learning_rate(optimizer: torch.optim.Optimizer) -> float:
    """The present one, of all groups."""
    rates = {group["lr"] for group in optimizer.param_groups}
    if len(rates) > 1:
        raise ValueError(f"groups have different learning rates ({sorted(rates)}); the trainer has one for all")
    return float(rates.pop())

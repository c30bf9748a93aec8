"""What Sluice's updates need to know of a PyTorch optimizer. What they cannot do is an error that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# Of a group, with the values at which they change nothing.
_PLAIN: dict[str, tuple] = {
    "dampening": (0,), "maximize": (False,), "amsgrad": (False,),
    "differentiable": (False,), "capturable": (False,),
}


def optimizer_settings(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """name, momentum (beta 1), beta2, epsilon, and of each group its weight_decay."""
    import torch

    name = type(optimizer).__name__
    if type(optimizer) not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        raise ValueError(f"{name}: the trainer updates by PyTorch's SGD, Adam and AdamW; with others, train under sluice.offload")
    first = optimizer.param_groups[0]
    for group in optimizer.param_groups:
        for key, plain in _PLAIN.items():
            if key in group and group[key] not in plain:
                raise ValueError(f"{name} with {key}={group[key]}: the trainer has no such update; sluice.offload has")
        different = [key for key in ("momentum", "nesterov", "betas", "eps") if group.get(key) != first.get(key)]
        if different:
            raise ValueError(
                f"{name} with groups of different {different[0]} ({first[different[0]]} and {group[different[0]]}): the "
                "trainer has groups of different weight_decay and lr alone; sluice.offload takes any optimizer")
    beta1, beta2 = first.get("betas", (first.get("momentum", 0), 0.999))
    return {
        "name": name.lower(), "momentum": float(beta1), "beta2": float(beta2), "epsilon": float(first.get("eps", 1e-8)),
        "nesterov": bool(first.get("nesterov", False)), "clip_norm": 0.0,
        "weight_decays": [float(group["weight_decay"]) for group in optimizer.param_groups],
    }


class LearningRate:
    """Of all groups: the largest one, of which the others stay the parts that they are at first."""

    def __init__(self, optimizer: torch.optim.Optimizer):
        self._optimizer = optimizer
        rates = self._rates() if any(self._rates()) else [float(group.get("initial_lr", 0)) for group in optimizer.param_groups]
        if min(rates) == 0 < max(rates):
            raise ValueError(f"a group has a learning rate of 0 and others have not ({rates}): freeze it by requires_grad_(False)")
        largest = max(rates) or 1
        self.parts = [rate / largest if rate else 1 for rate in rates]

    def _rates(self) -> list[float]:
        return [float(group["lr"]) for group in self._optimizer.param_groups]

    def now(self) -> float:
        rates = self._rates()
        largest = max(rates)
        for rate, part in zip(rates, self.parts):
            if abs(rate - part * largest) > 1e-6 * largest:
                raise ValueError(f"learning rates of groups became {rates}: the trainer has them in the proportions that they had "
                                 f"at first, {self.parts}")
        return largest

"""What an optimizer keeps of its parameters, while a Trainer has it: given to whoever asks for ``optimizer.state_dict()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    import torch

_TENSORS = {
    "SGD": {"momentum_buffer": "momentum"},
    "Adam": {"exp_avg": "moment1", "exp_avg_sq": "moment2"},
    "AdamW": {"exp_avg": "moment1", "exp_avg_sq": "moment2"},
}


class OptimizerState:
    """Of the parameters of `optimizer`, which `training` (sluice._train) updates.

    ``state_dict()`` and ``load_state_dict()`` of the optimizer work as ever; in between it holds nothing. Parameters without
    a name take no part in the loss, and have no state in PyTorch either.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, training: Any, name_of: Callable[[Any], str | None]):
        self._optimizer, self._training = optimizer, training
        self._named = [(each, name_of(each)) for group in optimizer.param_groups for each in group["params"]]
        self._tensors = _TENSORS[type(optimizer).__name__]
        if "momentum_buffer" in self._tensors and not optimizer.param_groups[0]["momentum"]:
            self._tensors = {}
        self._plain = {"state_dict": optimizer.state_dict, "load_state_dict": optimizer.load_state_dict}
        self._any = False  # there is a state beside zeros
        if optimizer.state:
            self._take()
        optimizer.state_dict = self._state_dict
        optimizer.load_state_dict = self._load_state_dict

    def _take(self) -> None:
        """What is in the optimizer becomes the state here."""
        import torch

        self._any = bool(self._optimizer.state)
        steps = [int(state["step"]) for state in self._optimizer.state.values() if "step" in state]
        self._training.steps = max(steps, default=0)
        for parameter, name in self._named:
            state = self._optimizer.state.get(parameter, {})
            for key, slot in self._tensors.items() if name is not None else ():
                value = state.get(key)
                value = torch.zeros(parameter.shape) if value is None else value.detach().float().contiguous()
                self._training.write(name, slot, (value.data_ptr(), value.numel()))
        self._optimizer.state.clear()

    def _put(self) -> None:
        import torch

        if not self._any and self._training.steps == 0:
            return
        for parameter, name in self._named:
            if name is None:
                continue
            state = self._optimizer.state[parameter]
            if "exp_avg" in self._tensors:
                state["step"] = torch.tensor(float(self._training.steps))
            for key, slot in self._tensors.items():
                state[key] = torch.empty(parameter.shape, dtype=torch.float32)
                self._training.read(name, slot, (state[key].data_ptr(), state[key].numel()))

    def _state_dict(self) -> dict:
        self._put()
        state = self._plain["state_dict"]()
        self._optimizer.state.clear()
        return state

    def _load_state_dict(self, state: dict) -> None:
        self._plain["load_state_dict"](state)
        self._take()

    def end(self) -> None:
        """The optimizer is an ordinary one again, and has its state."""
        for name in self._plain:
            delattr(self._optimizer, name)
        try:
            self._put()
        except BaseException:
            self._optimizer.state.clear()
            raise

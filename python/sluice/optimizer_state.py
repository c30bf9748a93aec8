"""What an optimizer keeps of its parameters, while a Trainer has it: given to whoever asks for ``optimizer.state_dict()``."""

from __future__ import annotations

from typing import Callable

_TENSORS = {
    "SGD": {"momentum_buffer": ".momentum"},
    "Adam": {"exp_avg": ".moment1", "exp_avg_sq": ".moment2"},
    "AdamW": {"exp_avg": ".moment1", "exp_avg_sq": ".moment2"},
}


class OptimizerState:
    """Of the parameters of `optimizer`, which `training` (sluice._train) updates.

    ``state_dict()`` and ``load_state_dict()`` of the optimizer work as ever; in between it holds nothing.
    """

    def __init__(self, optimizer, training, name_of: Callable):
        self._optimizer, self._training, self._name_of = optimizer, training, name_of
        self._tensors = _TENSORS[type(optimizer).__name__]
        if self._tensors.keys() == {"momentum_buffer"} and not optimizer.param_groups[0]["momentum"]:
            self._tensors = {}
        self._plain = {"state_dict": optimizer.state_dict, "load_state_dict": optimizer.load_state_dict}
        optimizer.state_dict = self._state_dict
        optimizer.load_state_dict = self._load_state_dict
        self._take()

    def _take(self) -> None:
        """What is in the optimizer, if anything is, becomes the state here."""
        for parameter, state in self._optimizer.state.items():
            for key, suffix in self._tensors.items():
                if state.get(key) is not None:
                    value = state[key].float().contiguous()
                    self._training.write(self._name_of(parameter), suffix, (value.data_ptr(), value.numel()))
            if "step" in state:
                self._training.steps = int(state["step"])
        self._optimizer.state.clear()

    def _put(self) -> None:
        import torch

        if self._training.steps == 0:
            return
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                state = self._optimizer.state[parameter]
                if "exp_avg" in self._tensors:
                    state["step"] = torch.tensor(float(self._training.steps))
                for key, suffix in self._tensors.items():
                    state[key] = torch.empty(parameter.shape)
                    memory = (state[key].data_ptr(), state[key].numel())
                    self._training.read(self._name_of(parameter), suffix, memory)

    def _state_dict(self):
        self._put()
        state = self._plain["state_dict"]()
        self._optimizer.state.clear()
        return state

    def _load_state_dict(self, state) -> None:
        self._plain["load_state_dict"](state)
        self._take()

    def end(self) -> None:
        """The optimizer is an ordinary one again, and has its state."""
        self._put()
        for name in self._plain:
            delattr(self._optimizer, name)

"""``sluice.Trainer``: a PyTorch module trained by Sluice's kernels, in the memory that one says.

The module is captured once (capturing.py), differentiated and planned; from then on a step is Sluice's, and the module's
parameters are placeholders that fetch their present values when somebody looks (mirroring.py). The optimizer gives its
kind and, in each step, its learning rate, so schedules go on as they are.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile

from sluice.capturing import capture, graph_inputs
from sluice.errors import SluiceError
from sluice.exporting import OTHERWISE, batch_size
from sluice.mirroring import Mirror
from sluice.optimizer_state import OptimizerState
from sluice.optimizer_settings import learning_rate, optimizer_settings

LEFT_OUT = -100  # PyTorch's label of what does not count; Sluice's is -1
_LOSSES = ("auto", "cross-entropy", "next-token", "masked-token")


class Trainer:
    """Trains `module` by Sluice's kernels instead of PyTorch's.

    Args:
        module: in main memory, fp32, all of it trained; its first output [N, classes], or [N, T, classes] of tokens, goes
            into the cross-entropy with the targets.
        optimizer: SGD, Adam or AdamW over the module's parameters. Its ``step()`` is not called; its rate is read in
            each step.
        loss: "auto", "cross-entropy" (targets [N]), "next-token" or "masked-token" (targets [N, T]), or
            ``torch.nn.CrossEntropyLoss()``.
        fast: bytes that a step may take ("1GiB"), or a share ("40%") of what it takes at most; None: all it takes.
        to: a folder on a fast disk for what does not fit; without one, what does not fit is computed again.
        planner: which one plans the transfers.
        seed: of dropout.

    ::

        trainer = sluice.Trainer(model, optimizer)
        for x, y in batches:
            loss = trainer.step(x, y)
            schedule.step()

    Looking at the module (``state_dict()``, ``model.weight``, ``model(x)``) sees what the last step made. Errors: what
    cannot be captured, is not known to Sluice or does not fit is a SluiceError or ValueError that names it.
    """

    def __init__(self, module, optimizer, loss="auto", fast: str | int | None = None, to: str | None = None,
                 planner: str = "joint", seed: int = 1):
        self._module, self._optimizer = module, optimizer
        self._loss = _loss_name(loss)
        self._settings = optimizer_settings(optimizer)
        self._fast = None if fast is None else str(fast)
        self._folder, self._planner, self._seed = to or "", planner, seed
        self._training = self._mirror = self._state = None
        self._temporary: str | None = None
        _check_module(module, optimizer)

    def step(self, inputs, targets) -> float:
        """One step of training with one batch: the loss.

        Args:
            inputs: what ``module(...)`` takes: a tensor, a tuple of them, or a dict by argument.
            targets: classes [N], or of tokens [N, T]; -100 does not count.
        """
        if self._training is None:
            self._start(inputs)
        rate = learning_rate(self._optimizer)
        batch, samples = self._batch(inputs, targets)
        self._mirror.release()
        self._training.change_batch(samples)
        batch = [self._as_wanted(tensor, wanted) for tensor, wanted in zip(batch, self._training.inputs())]
        loss = self._training.step([(tensor.data_ptr(), tensor.numel()) for tensor in batch], rate)
        self._count_step()
        return loss

    def fit(self, batches, epochs: int = 1, schedule=None, on_step=None) -> list[float]:
        """All of `batches`, such as a ``DataLoader`` of (inputs, targets); the mean loss of each epoch.

        `schedule` steps once an epoch; ``on_step(number, loss)`` is called behind each step.
        """
        means = []
        number = 0
        for _ in range(epochs):
            losses = []
            for inputs, targets in batches:
                losses.append(self.step(inputs, targets))
                if on_step is not None:
                    on_step(number, losses[-1])
                number += 1
            means.append(sum(losses) / max(1, len(losses)))
            if schedule is not None:
                schedule.step()
        return means

    def close(self) -> None:
        """Gives the module its values and the memory back. The module goes on in PyTorch."""
        if self._mirror is not None:
            self._state.end()
            self._mirror.end()
        self._training = self._mirror = self._state = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @property
    def fast_bytes(self) -> int | None:
        """Of the plan; None before the first step."""
        return None if self._training is None else self._training.fast_bytes

    @property
    def notes(self) -> list[str]:
        """What was done differently than asked, or left out."""
        return [] if self._training is None else self._training.notes

    # -- the beginning

    def _start(self, inputs) -> None:
        import torch

        from sluice import _train

        self._temporary = tempfile.mkdtemp(prefix="sluice-", dir=self._folder or None)
        path = os.path.join(self._temporary, "module.onnx")
        try:
            capture(self._module, inputs, path)
            values = {
                name: (value.data_ptr(), value.numel())
                for name, value in self._module.state_dict().items()
                if value.dtype == torch.float32 and value.is_contiguous()
            }
            self._training = _train.ModuleTraining(
                onnx=path, values=values, optimizer=self._settings, loss=self._loss, threads=torch.get_num_threads(),
                fast=self._fast, planner=self._planner, folder=self._folder,
                samples=batch_size(inputs), seed=self._seed)
        except SluiceError as problem:
            self.close()
            if problem.kind in ("bad-input", "unsupported") and OTHERWISE not in problem.message:
                raise SluiceError(f"{problem.message}\n{OTHERWISE}", problem.kind) from problem
            raise
        self._mirror = Mirror(
            self._module, set(self._training.changing()),
            lambda name, tensor: self._training.read(name, "", (tensor.data_ptr(), tensor.numel())),
            lambda name, tensor: self._training.write(name, "", (tensor.data_ptr(), tensor.numel())))
        self._state = OptimizerState(self._optimizer, self._training, self._mirror.name_of)
        self._counters = [
            part.num_batches_tracked for part in self._module.modules()
            if getattr(part, "num_batches_tracked", None) is not None
        ]
        self._mirror.release()
        _train.return_free_memory()

    def _count_step(self) -> None:
        for counter in self._counters:
            counter += 1
        self._optimizer._step_count = getattr(self._optimizer, "_step_count", 0) + 1  # schedules warn without

    # -- batches

    def _batch(self, inputs, targets):
        """The tensors that the graph takes, in its order, and how many samples they are."""
        by_name = graph_inputs(self._module, inputs)
        tensors = [by_name.get(name, targets) for name, _, _, _ in self._training.inputs()]
        return tensors, tensors[0].shape[0]

    def _as_wanted(self, tensor, wanted):
        import torch

        name, content, shape, bound = wanted
        if tensor.numel() != math.prod(shape) or tensor.shape[0] != shape[0]:
            raise ValueError(f"{name}: a batch of {content} has the shape {list(shape)}; got {list(tensor.shape)}")
        if bound == 0:
            return tensor.detach().to(torch.float32).contiguous()
        numbers = tensor.detach().to(torch.int32).contiguous()
        if (numbers == LEFT_OUT).any():
            numbers = torch.where(numbers == LEFT_OUT, -1, numbers)
        least = -1 if content in ("labels", "next tokens", "hidden tokens") else 0  # -1: does not count
        if int(numbers.max()) >= bound or int(numbers.min()) < least:
            raise IndexError(f"{name}: {content} are below {bound}; got {int(numbers.min())} to {int(numbers.max())}")
        return numbers


def _loss_name(loss) -> str:
    if isinstance(loss, str):
        if loss not in _LOSSES:
            raise ValueError(f"loss '{loss}': write one of {', '.join(_LOSSES)}, or torch.nn.CrossEntropyLoss()")
        return loss
    name = type(loss).__name__
    if name != "CrossEntropyLoss":
        raise ValueError(f"{name}: the trainer's loss is the cross-entropy; with others, train under sluice.offload")
    plain = loss.weight is None and loss.reduction == "mean" and loss.label_smoothing == 0 and loss.ignore_index == LEFT_OUT
    if not plain:
        raise ValueError("CrossEntropyLoss with weights, label smoothing or another reduction: train under sluice.offload")
    return "auto"


def _check_module(module, optimizer) -> None:
    import torch

    updated = {id(each) for group in optimizer.param_groups for each in group["params"]}
    for name, parameter in module.named_parameters():
        if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
            raise ValueError(f"{name} is {parameter.dtype} on {parameter.device}: the trainer takes float32 in main memory")
        if not parameter.requires_grad or id(parameter) not in updated:
            raise ValueError(f"{name} is not trained: the trainer trains all of a module; sluice.offload takes any")

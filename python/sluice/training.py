"""``sluice.Trainer``: a PyTorch module trained by Sluice's kernels, in the memory that one says.

The module is captured once (capturing.py), differentiated and planned; from then on a step is Sluice's, and the module's
parameters are placeholders that fetch their present values when somebody looks (mirroring.py). The optimizer gives its
kind and, in each step, its learning rate, so schedules of rates go on as they are.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

from sluice.capturing import capture
from sluice.errors import SluiceError
from sluice.exporting import OTHERWISE, batch_size, graph_inputs, graph_targets
from sluice.mirroring import Mirror
from sluice.optimizer_settings import LearningRate, optimizer_settings
from sluice.optimizer_state import OptimizerState
from sluice.own_process import OfThisProcess
from sluice.trainable import check_classes, check_inputs, check_module, ignored_label, only_tensors

if TYPE_CHECKING:
    import torch

_LABELS = ("labels", "next tokens", "hidden tokens")
_NUMBERS = ("images", "numbers")  # fp32; the others are integers
_LEFT_OUT = -1  # Sluice's label of what does not count


class Trainer:
    """Trains `module` by Sluice's kernels instead of PyTorch's.

    Args:
        module: in main memory, fp32. It is trained in training mode; where some of its parts are in evaluation mode, each
            as it is.
        optimizer: SGD, Adam or AdamW over parameters of the module. Others, and those that want no gradient, stay as they
            are. Its ``step()`` is not called; its rate is read in each step.
        loss: of the module's output and the targets, one number; it is captured with the module. None: the cross-entropy of
            the first output, [N, classes, ...], or [N, T, classes] of tokens, with classes.
        fast: bytes that a step may take ("1GiB"), or a share ("40%") of what it takes without this; None: what it takes
            where nothing moves and what is quickly made again is not kept.
        to: a folder on a fast disk for what does not fit; without one, what does not fit is computed again.
        planner: which one plans that.
        seed: of dropout.

    ::

        with sluice.Trainer(model, optimizer) as trainer:
            for x, y in batches:
                loss = trainer.step(x, y)
                schedule.step()

    Looking at the module (``state_dict()``, ``model.weight``, ``model(x)``) sees what the last step made. Errors: what
    cannot be captured, is not known to Sluice or does not fit is a SluiceError or ValueError that names it.
    """

    def __init__(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer,
                 loss: Callable | None = None, fast: str | int | None = None, to: str | None = None,
                 planner: str = "joint", seed: int = 1):
        if fast is None and (to is not None or planner != "joint"):
            raise ValueError("to= and planner= are for what does not fit: say how much may, with fast=")
        self._module, self._optimizer = module, optimizer
        self._loss = loss
        self._settings = optimizer_settings(optimizer)
        self._rate = LearningRate(optimizer)
        self._fast = None if fast is None else str(fast)
        self._folder, self._planner, self._seed = to or "", planner, seed
        self._training: Any = None
        self._mirror: Mirror | None = None
        self._state: OptimizerState | None = None
        self._files: list = []  # of what is captured: without names, so that nothing is left of them
        check_module(module, optimizer)

    def step(self, inputs: Any, targets: Any = None) -> float:
        """One step of training with one batch: the loss.

        Args:
            inputs: what ``module(...)`` takes: a tensor, a tuple of them, or a dict by argument. Their first extent is the
                batch, which may change from step to step; the others stay.
            targets: what ``loss(output, ...)`` takes: a tensor, a tuple or dict of them; None for ``loss(output)``. Of the
                cross-entropy: classes [N, ...], or of tokens [N, T].
        """
        if self._training is None:
            self._start(inputs, targets)
        if optimizer_settings(self._optimizer) != self._settings:
            raise ValueError(f"the optimizer's settings changed from {self._settings}: only its learning rate may")
        rate = self._rate.now()
        tensors = check_inputs(self._tensors_of(inputs, targets), self._given)
        self._mirror.release()
        with self._named():
            self._training.change_batch(batch_size(inputs))
        batch = [self._as_wanted(tensors, targets, *wanted) for wanted in self._training.inputs()]
        loss = self._training.step([(tensor.data_ptr(), tensor.numel()) for tensor in batch], rate)
        for counter, calls in self._counters:
            counter += calls
        self._optimizer._step_count = getattr(self._optimizer, "_step_count", 0) + 1  # schedules warn without
        return loss

    def fit(self, batches: Iterable, epochs: int = 1, schedule: Any = None,
            on_step: Callable[[int, float], None] | None = None) -> list[float]:
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
        """Gives module and optimizer their values and the memory back. Both go on in PyTorch.

        Errors: where values cannot be read (a disk that fails). Module and optimizer are ordinary ones all the same: those
        values are NaN, and may be loaded from a checkpoint.
        """
        state, mirror = self._state, self._mirror
        self._state = self._mirror = None
        try:
            if state is not None:
                state.end()
        finally:
            try:
                if mirror is not None:
                    mirror.end()
            finally:
                self._training = None
                for file in self._files:
                    file.close()
                self._files = []

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: Any) -> None:
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

    def _start(self, inputs: Any, targets: Any) -> None:
        check_module(self._module, self._optimizer)
        self._files = [tempfile.TemporaryFile(dir=self._folder or None) for _ in range(2)]
        path, weights = self._paths()
        try:
            with self._named():
                self._open(path, weights, inputs, targets)
        except SluiceError as problem:
            self.close()
            if problem.kind in ("bad-input", "unsupported") and OTHERWISE not in problem.message:
                raise SluiceError(f"{problem.message}\n{OTHERWISE}", problem.kind) from problem
            raise
        except BaseException:
            self.close()
            raise

    def _paths(self) -> list[str]:
        return [f"/proc/self/fd/{file.fileno()}" for file in self._files]

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Errors speak of the module, not of the file that it is captured in."""
        try:
            yield
        except SluiceError as problem:
            problem.message = problem.message.replace(self._paths()[0], type(self._module).__name__)
            raise

    def _tensors_of(self, inputs: Any, targets: Any) -> dict[str, torch.Tensor]:
        """All that the file takes."""
        tensors = graph_inputs(self._module, inputs)
        return only_tensors(tensors if self._ignored is not None else {**tensors, **graph_targets(targets)})

    def _open(self, path: str, weights: str, inputs: Any, targets: Any) -> None:
        import torch

        from sluice import _train

        self._ignored = ignored_label(self._loss, targets)
        own_loss = self._ignored is None
        tensors = self._tensors_of(inputs, targets)
        calls = capture(self._module, inputs, path, weights, *((self._loss, targets) if own_loss else ()))
        groups = {id(each): number for number, group in enumerate(self._optimizer.param_groups) for each in group["params"]}
        trained = {
            name: groups[id(value)] for name, value in self._module.state_dict(keep_vars=True).items()
            if value.requires_grad and id(value) in groups
        }
        training: Any = OfThisProcess(_train.ModuleTraining(
            onnx=path, trained=trained, groups=list(zip(self._settings["weight_decays"], self._rate.parts)), own_loss=own_loss,
            optimizer=self._settings, threads=torch.get_num_threads(), fast=self._fast, planner=self._planner,
            folder=self._folder, samples=batch_size(inputs), seed=self._seed))
        self._given = {name: (tensor.shape[1:], tensor.dtype) for name, tensor in tensors.items()}
        parts = dict(self._module.named_modules())
        self._counters = [(parts[name].num_batches_tracked, count) for name, count in calls.items()]
        self._training = training
        self._mirror = Mirror(
            self._module, set(training.changing()),
            lambda name, tensor: training.read(name, "", (tensor.data_ptr(), tensor.numel())),
            lambda name, tensor: training.write(name, "", (tensor.data_ptr(), tensor.numel())))
        self._mirror.drop()  # the file has what is here
        _train.return_free_memory()
        training.begin()
        name_of = self._mirror.name_of
        self._state = OptimizerState(self._optimizer, training, lambda each: name_of(each) if each.requires_grad else None)

    def _as_wanted(self, tensors: dict, targets: torch.Tensor, name: str, content: str, shape: list, bound: int) -> torch.Tensor:
        import torch

        labels = content in _LABELS
        if labels:
            check_classes(targets)
        tensor = (targets if labels else tensors[name.removeprefix("input.")]).detach()
        fits = list(tensor.shape) == shape if labels else tensor.numel() == math.prod(shape)
        if not fits or labels and tensor.is_floating_point():
            raise ValueError(f"{content} are {shape}{' of integers' if labels else ''}; got {list(tensor.shape)} of {tensor.dtype}")
        if content in _NUMBERS:
            return tensor.to("cpu", torch.float32).contiguous()
        numbers = tensor.to("cpu", torch.int32).contiguous()
        counted = numbers[numbers != self._ignored] if labels else numbers
        if bound > 0 and counted.numel() and (int(counted.max()) >= bound or int(counted.min()) < 0):
            raise IndexError(f"{content} are from 0 to {bound - 1}; got {int(counted.min())} to {int(counted.max())}")
        return torch.where(numbers == self._ignored, _LEFT_OUT, numbers).to(torch.int32) if labels else numbers

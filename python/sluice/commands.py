"""The product's commands as functions: what `sluice plan`, `simulate`, `sweep` and the others find out, as dictionaries.

Each runs the command in a process of its own (command.py), takes its options as keyword arguments of the same names, shows its
progress, and returns its JSON document, whose fields docs/json.md lists; rows() makes tables of them. All take the settings
of settings.Settings besides (batch, optimizer, threads, slow tiers, ...), `quiet=True`, which shows neither progress nor notes,
and `json`, a file that gets the document, too.

A model is the name of a built-in one ("resnet50"; models() lists them), the path of an ONNX file ("model.onnx"), or a
torch.nn.Module with `inputs`, an example of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Sequence, Union

from sluice.about_model import Document, about_model, run_about
from sluice.captured import given_models
from sluice.settings import File, Settings, Size, check_settings, together

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    Model = Union[str, File, torch.nn.Module]


def plan(
    model: Model,
    *,
    fast: Size | None = None,
    planner: str | None = None,
    output: File | None = None,
    inputs: Any = None,
    smallest_feasible: bool = False,
    planning_time: float | None = None,
    estimate: bool = False,
    profile: File | None = None,
    accesses: File | None = None,
    program: File | None = None,
    html: File | None = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Decides where every tensor of a training step lives at every moment.

    Args:
        model: a name, an ONNX file or a module with `inputs`.
        fast: the budget of fast memory: bytes, "512MiB", "20%" of what everything takes, or "auto:5%", the least that is
            predicted to cost at most 5 % of the time; by default all it takes.
        planner: who decides ("joint"; planners() lists them).
        output: a file for the plan, which simulate(), verify(), explain() and `sluice train` read.
        inputs: of a module: a batch, a tensor [N, ...], a tuple of them, or a dictionary.
        smallest_feasible: where that budget is too small, take the smallest that works.
        planning_time: seconds to look for a better plan at most.
        estimate: measure nothing: op times are guesses, which tell whether a model fits and not how fast it is.
        profile: op times from this file instead of measuring.
        accesses: counted memory accesses from this file.
        program: a file for the integer program that the planner solves, in MPS.
        html: a file for a page with a chart of how the search converged.

    Returns:
        among others `predicted_ms` (of a step), `predicted_loss` (against everything in fast memory; 0.1 is 10 % longer),
        `fast_only_bytes` (what everything takes), `budgets` and `arena_bytes` (bytes by tier, the fast one first).

    Raises:
        SluiceError: `requested` and `available` are the smallest budget that works and this one, where it is too small.
    """
    return about_model("plan", locals())


def simulate(
    model: Model,
    *,
    fast: Size | None = None,
    planner: str | None = None,
    plan: File | None = None,
    trace: File | None = None,
    inputs: Any = None,
    smallest_feasible: bool = False,
    planning_time: float | None = None,
    profile: File | None = None,
    accesses: File | None = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Predicts a training step moment by moment, without running it.

    Args:
        plan: a plan file to simulate instead of asking a planner. The others: see plan(). `planner` may also be a policy,
            which decides during the step ("um", "dtr", ...).
        trace: a file for the step's timeline, for chrome://tracing or Perfetto.

    Returns:
        a plan's fields, `stall_ms`, `parts_ms` (where the time goes, milliseconds) and `locality` (of what ops read and
        write, the share that is in fast memory; `rows(result, "locality.series")` is it over the step).
    """
    return about_model("simulate", locals())


def sweep(
    models: Model | Sequence[Model],
    *,
    fast: Size | Iterable[Size] | None = None,
    planners: str | Iterable[str] | None = None,
    inputs: Any = None,
    no_loss: str | None = None,
    price: str | None = None,
    within: str | None = None,
    run: bool = False,
    steps: int | None = None,
    lr: float | None = None,
    html: File | None = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Predicts step time over fast memory.

    Args:
        models: one or several; "resnet20:128" is a name (or an ONNX file) with its batch.
        fast: the budgets, bytes, "512MiB" or "20%"; by default from 5 % to 100 %.
        planners: one or several, or policies.
        no_loss: instead of budgets, such as "1%": the smallest whose step is predicted to be at most so much longer.
        price: "fast=16.61,slow=7.85", of a GB of each memory: what budgets cost; `within` is the loss that is allowed then.
        run: also run each point, `steps` steps with learning rate `lr`, beside everything in fast memory.
        html: a file for a page with charts.

    Returns:
        `models`, each with `points`; `rows(result)` is a row for each, with `budget_bytes`, `predicted_ms`,
        `predicted_slowdown` (1: as everything in fast memory) and, where there is no plan, `infeasible`, why.
        A point that is infeasible is no error.
    """
    check_settings("sweep", settings)
    given = {**locals(), "fast": together(fast), "planners": together(planners)}
    listed = list(models) if isinstance(models, (list, tuple)) else [models]
    with given_models(listed, inputs, "batch" in settings) as words:
        return run_about("sweep", words, given)


def max_batch(
    model: Model,
    *,
    fast: Size,
    planner: str | None = None,
    inputs: Any = None,
    planning_time: float | None = None,
    program: File | None = None,
    run: bool = False,
    steps: int | None = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Finds the largest batch that can be trained in a budget, without running it.

    Args:
        fast: bytes, or "11GiB"; it may be more than this machine has. The others: see plan().
        run: confirm it by `steps` steps.

    Returns:
        among others `batch` (samples), `predicted_ms`, `predicted_samples_per_second`; `rows(result)` has the trials.
    """
    return about_model("max-batch", locals(), with_batch=False)


def report(
    model: Model,
    output: File = "report.html",
    *,
    fast: Size | None = None,
    planner: str | None = None,
    planners: str | Iterable[str] | None = None,
    curve: Size | Iterable[Size] | None = None,
    inputs: Any = None,
    run: bool = False,
    steps: int | None = None,
    starts: int | None = None,
    smallest_feasible: bool = False,
    profile: File | None = None,
    accesses: File | None = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Writes a page that opens offline: what a plan does with memory and time, other planners, how much memory is enough.

    Args:
        output: the page. `model` and the others: see plan().
        planners: whom to compare with.
        curve: the budgets of step time over memory: bytes, "512MiB" or "20%".
        run: run the planners (`starts` processes of `steps` steps each), not only simulate them.

    Returns:
        what the page is made of (docs/report.md); `rows(result)` has the planners, `rows(result, "tensors")` the tensors,
        with bytes.
    """
    return about_model("report", {**locals(), "planners": together(planners), "curve": together(curve)})


def characterize(
    model: Model,
    *,
    fast: Size | None = None,
    accesses: bool = True,
    html: File | None = None,
    inputs: Any = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Shows how tensors live and are accessed: what planners can make use of.

    Args:
        fast: the budget for simulated page migration, bytes or "20%". The others: see plan().
        accesses: run a step and count accesses to memory; without it only what the graph says.
        html: a file for a page with charts.

    Returns:
        the tables of docs/characterize.md, sizes in bytes; `rows(result)` has lifetimes in layers, and
        `rows(result, "page_migration")`, "distances", "hot_and_cold" and the others theirs.
    """
    return about_model("characterize", {**locals(), "accesses": None, "no_accesses": not accesses})

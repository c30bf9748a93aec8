#!/usr/bin/python3
"""Times training steps in PyTorch, the rival, the way a careful user would run it on CPU.

    pytorch_step.py MODEL [--batch B] [--threads T] [--mode plain|compile|pool|checkpoint|disk|offload|trainer] [--layout auto|nhwc|nchw]
                    [--steps N] [--spill FILE] [--dropout P] [--core KERNELS] [--fast BUDGET] [--optimizer sgd|adamw]
    pytorch_step.py MODEL ... --serve

The step: forward, the model's loss, backward, SGD with momentum 0.9 or AdamW, fp32, on one synthetic batch (networks whose
steps differ: a fresh one each step). Layout auto runs two steps in each memory format and takes the faster (language models
have one only).
Modes: plain; compile is torch.compile of PyTorch 2, its code generated before the first step; checkpoint recomputes every block in the backward pass; disk keeps saved tensors in a file. The others are no
rivals, but Sluice's package in build/release/python: pool is plain with tensors in its memory; offload is sluice.offload with
--fast, and with AdamW sluice.offload_optimizer, which updates in the backward pass; trainer is sluice.Trainer, with --fast or
all the memory it takes.
Prints one JSON line per step with "step_seconds" and "loss", and one at the end with "peak_rss_bytes" and
"parameter_hash". With --serve each line is the answer to a request on standard input, {"command": "step"} or
{"command": "finish"}: the protocol of `sluice worker` (sluice/experiment/worker.hpp), so that both sides can be run step by
step in turn.

Debian's Python and packages: python3-torch, python3-torchvision, python3-numpy; libtcmalloc-minimal4 and
libopenblas0-openmp are used when they are there (see rival_libraries), with the kernels of OpenBLAS that are fastest on
this processor (openblas_core.py); the first JSON line says what was used.
"""

import argparse
import contextlib
import glob
import hashlib
import json
import os
import resource
import subprocess
import sys
import time

from openblas_core import describe, fastest_core

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TUNED = "SLUICE_RIVAL_TUNED"
LEARNING_RATE = 0.01


def rival_libraries(threads):
    """The environment in which PyTorch is fastest here, but for OpenBLAS' kernels, and what it uses.

    tcmalloc: with glibc, big tensors go back to the kernel every step and a quarter of the time is page faults.
    openblas-openmp: OpenBLAS' own thread pool spins against PyTorch's OpenMP pool.
    """
    environment = dict(os.environ)
    environment.pop("OPENBLAS_CORETYPE", None)
    environment["OMP_NUM_THREADS"] = str(threads)
    used = []
    for allocator in sorted(glob.glob("/usr/lib/*/libtcmalloc_minimal.so.4"))[:1]:
        environment["LD_PRELOAD"] = allocator
        environment["TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD"] = str(1 << 40)
        used.append("tcmalloc")
    for folder in sorted(glob.glob("/usr/lib/*/openblas-openmp"))[:1]:
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [folder, environment.get("LD_LIBRARY_PATH")]))
        used.append("openblas-openmp")
    return environment, used


def tuned_environment(threads, core):
    """`core`: of OpenBLAS' kernels, or nothing to find out which are fastest on this processor."""
    environment, used = rival_libraries(threads)
    if core is None:
        found = fastest_core(environment)
        print(describe(found), file=sys.stderr, flush=True)
        core = found["core"]
    if core:
        environment["OPENBLAS_CORETYPE"] = core
        used.append(f"OpenBLAS kernels {core}")
    environment[TUNED] = ",".join(used) or "none"
    return environment


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--mode", choices=["plain", "compile", "pool", "checkpoint", "disk", "offload", "trainer"], default="plain")
    parser.add_argument("--layout", choices=["auto", "nhwc", "nchw"], default="auto")
    parser.add_argument("--dropout", type=float, help="default: the model's")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--spill", default="pytorch.spill", help="the file of mode disk, unlinked at once")
    parser.add_argument("--fast", help="the budget of modes offload and trainer")
    parser.add_argument("--optimizer", choices=["sgd", "adamw"], default="sgd")
    parser.add_argument("--core", help="which of OpenBLAS' kernels, such as SkylakeX (default: the fastest, measured)")
    parser.add_argument("--serve", action="store_true", help="run steps on request from standard input")
    return parser.parse_args()


class Trainer:
    def __init__(self, options):
        import torch
        from torch.utils.checkpoint import checkpoint

        from saved_on_disk import SavedOnDisk
        from torch_models import MODELS

        torch.set_num_threads(options.threads)
        torch.manual_seed(0)
        if options.model not in MODELS:
            sys.exit(f"pytorch_step: unknown model {options.model}; known: {', '.join(MODELS)}")
        twin = MODELS[options.model]
        sizes = twin.sizes(batch=options.batch, dropout=options.dropout)
        self.torch = torch
        self.checkpoint = checkpoint if options.mode == "checkpoint" else None
        self.stages = twin.stages
        layout = torch.channels_last if options.layout == "nhwc" else torch.contiguous_format
        self.model = twin.build(sizes).to(memory_format=layout)
        self.compiled = torch.compile(self.model) if options.mode == "compile" else None
        self.disk = SavedOnDisk(options.spill, self.model.parameters()) if options.mode == "disk" else None
        self.budget = contextlib.nullcontext()
        self.draw = lambda step: tuple(tensor.to(memory_format=layout) if tensor.dim() == 4 else tensor
                                       for tensor in twin.inputs(sizes, torch.Generator().manual_seed(step)))
        self.fresh = twin.fresh
        self.steps = 0
        self.inputs = self.draw(0)
        self.optimizers = [self.optimizer(options.optimizer, stage) for stage in self.stages]
        self.trainer = None
        if options.mode in ("pool", "offload", "trainer"):
            self.use_sluice(options)

    def use_sluice(self, options):
        sys.path.insert(0, os.path.join(ROOT, "build/release/python"))
        import sluice
        from sluice.memory import pool

        folder = os.path.dirname(os.path.abspath(options.spill))
        if options.mode == "pool":
            pool()
        elif options.mode == "offload":
            self.budget = sluice.Offload(options.fast, folder)
            for optimizer in self.optimizers if options.optimizer == "adamw" else []:
                sluice.offload_optimizer(optimizer, folder, during_backward=True)
        else:
            if self.fresh:
                sys.exit("pytorch_step: a captured module does the same in each step, and this model does not")
            loss = self.torch.nn.CrossEntropyLoss(ignore_index=-1)
            self.trainer = sluice.Trainer(self.module(), self.optimizers[0], loss=loss, fast=options.fast)

    def module(self):
        """The model as a module of as many arguments as it reads."""
        if len(self.inputs) == 2:
            return self.model
        model = self.model

        class OfTwo(self.torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, tokens, segments):
                return self.model((tokens, segments))

        return OfTwo()

    def optimizer(self, name, stage):
        trained = [parameter for each, parameter in self.model.named_parameters()
                   if each.startswith(stage.trained_prefix) and parameter.requires_grad]
        if name == "adamw":
            return self.torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.01)
        return self.torch.optim.SGD(trained, lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-4)

    def run(self, hidden):
        for block in self.model:
            hidden = self.checkpoint(block, hidden, use_reentrant=False, preserve_rng_state=False)
        return hidden

    def loss(self, stage):
        if self.disk:
            with self.disk.hooks():
                return stage.loss(self.model, self.inputs)
        return stage.loss(self.compiled or (self.run if self.checkpoint else self.model), self.inputs)

    def step(self):
        if self.fresh:
            self.inputs = self.draw(self.steps)
        self.steps += 1
        start = time.perf_counter()
        if self.trainer:
            inputs = self.inputs[:-1] if len(self.inputs) > 2 else self.inputs[0]
            loss = self.trainer.step(inputs, self.inputs[-1])
            return {"step_seconds": time.perf_counter() - start, "loss": loss}
        total = 0.0
        for stage, optimizer in zip(self.stages, self.optimizers):
            self.model.zero_grad(set_to_none=True)
            with self.budget:
                loss = self.loss(stage)
                loss.backward()
            optimizer.step()
            total += loss.item()
            del loss
        return {"step_seconds": time.perf_counter() - start, "loss": total}

    def summary(self):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # of steps, not of looking at parameters
        digest = hashlib.sha256()
        for parameter in self.model.parameters():
            digest.update(parameter.detach().contiguous().numpy().tobytes())
        left = self.budget.last.left if hasattr(self.budget, "last") else 0
        capturing = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 if self.trainer else 0
        return {"peak_rss_bytes": peak, "left_bytes": left, "capturing_peak_rss_bytes": capturing,
                "parameter_hash": digest.hexdigest()[:32]}


def faster_layout(options):
    """Two steps in each memory format, each in a process of its own, so that this one's peak memory is its own."""
    from torch_models import MODELS
    language = options.model in MODELS and not MODELS[options.model].defaults.image_size
    if language or options.mode == "trainer":
        return "nchw"
    seconds = {}
    for layout in ("nhwc", "nchw"):
        command = [sys.executable, os.path.abspath(__file__), options.model, "--batch", str(options.batch), "--threads",
                   str(options.threads), "--layout", layout, "--steps", "3"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        steps = [json.loads(line) for line in lines]
        seconds[layout] = min(step["step_seconds"] for step in steps[1:] if "step_seconds" in step)
    return min(seconds, key=seconds.get)


def say(record):
    print(json.dumps(record), flush=True)


def serve(trainer):
    for line in sys.stdin:
        command = json.loads(line)["command"]
        if command == "step":
            say({"ok": True, **trainer.step()})
        elif command == "finish":
            say({"ok": True, **trainer.summary()})
        else:
            say({"ok": False, "message": f"unknown request '{command}'; expected 'step' or 'finish'"})


def main():
    options = arguments()
    if TUNED not in os.environ:
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable] + sys.argv, tuned_environment(options.threads, options.core))
    try:
        if options.layout == "auto":
            options.layout = faster_layout(options)
        trainer = Trainer(options)
    except ImportError as missing:
        sys.exit(f"pytorch_step: {missing}; on Debian: apt-get install python3-torch python3-torchvision")
    if options.serve:
        serve(trainer)
    else:
        say({"model": options.model, "batch": options.batch, "threads": options.threads, "mode": options.mode,
             "layout": options.layout, "torch": trainer.torch.__version__, "tuned": os.environ[TUNED]})
        for _ in range(options.steps):
            say(trainer.step())
        say(trainer.summary())


if __name__ == "__main__":
    main()

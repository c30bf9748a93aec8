#!/usr/bin/python3
"""Times training steps in PyTorch, the rival, the way a careful user would run it on CPU.

    pytorch_step.py MODEL [--batch B] [--threads T] [--mode plain|checkpoint|disk] [--steps N] [--spill FILE]
    pytorch_step.py MODEL ... --serve

The step: forward, softmax cross-entropy, backward, SGD with momentum 0.9, fp32, channels-last, on one synthetic batch.
Modes: plain; checkpoint recomputes every block in the backward pass; disk keeps saved tensors in a file.
Prints one JSON line per step with "step_seconds" and "loss", and one at the end with "peak_rss_bytes" and
"parameter_hash". With --serve each line is the answer to a request on standard input, {"command": "step"} or
{"command": "finish"}: the protocol of `sluice worker` (sluice/train/worker.hpp), so that both sides can be run step by
step in turn.

Debian's Python and packages: python3-torch, python3-numpy; libtcmalloc-minimal4 and libopenblas0-openmp are used when
they are there (see tuned_environment), and the first JSON line says whether they were.
"""

import argparse
import glob
import hashlib
import json
import os
import resource
import sys
import time

TUNED = "SLUICE_RIVAL_TUNED"
LEARNING_RATE = 0.01


def tuned_environment(threads):
    """The environment in which PyTorch is fastest here; each line undoes a measured loss.

    tcmalloc: with glibc, big tensors go back to the kernel every step and a quarter of the time is page faults.
    openblas-openmp: OpenBLAS' own thread pool spins against PyTorch's OpenMP pool.
    OPENBLAS_CORETYPE: some environments pin it to an older CPU, which halves matrix products.
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
    environment[TUNED] = ",".join(used) or "none"
    return environment


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a name of torch_models.MODELS")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--mode", choices=["plain", "checkpoint", "disk"], default="plain")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--spill", default="pytorch.spill", help="the file of mode disk, unlinked at once")
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
        sizes = twin.sizes(batch=options.batch)
        self.torch = torch
        self.checkpoint = checkpoint if options.mode == "checkpoint" else None
        self.stage, = twin.stages
        self.model = twin.build(sizes).to(memory_format=torch.channels_last)
        self.disk = SavedOnDisk(options.spill, self.model.parameters()) if options.mode == "disk" else None
        self.inputs = tuple(tensor.to(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor
                            for tensor in twin.inputs(sizes, torch.Generator().manual_seed(0)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-4)

    def run(self, hidden):
        if not self.checkpoint:
            return self.model(hidden)
        for block in self.model:
            hidden = self.checkpoint(block, hidden, use_reentrant=False, preserve_rng_state=False)
        return hidden

    def loss(self):
        return self.stage.loss(self.run, self.inputs)

    def step(self):
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        if self.disk:
            with self.disk.hooks():
                loss = self.loss()
        else:
            loss = self.loss()
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        return {"step_seconds": time.perf_counter() - start, "loss": value}

    def summary(self):
        digest = hashlib.sha256()
        for parameter in self.model.parameters():
            digest.update(parameter.detach().contiguous().numpy().tobytes())
        return {"peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "parameter_hash": digest.hexdigest()[:32]}


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
        os.execve(sys.executable, [sys.executable] + sys.argv, tuned_environment(options.threads))
    try:
        trainer = Trainer(options)
    except ImportError as missing:
        sys.exit(f"pytorch_step: {missing}; on Debian: apt-get install python3-torch python3-numpy")
    if options.serve:
        serve(trainer)
    else:
        say({"model": options.model, "batch": options.batch, "threads": options.threads, "mode": options.mode,
             "torch": trainer.torch.__version__, "tuned": os.environ[TUNED]})
        for _ in range(options.steps):
            say(trainer.step())
        say(trainer.summary())


if __name__ == "__main__":
    main()

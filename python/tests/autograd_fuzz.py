#!/usr/bin/env python3
"""Random autograd programs under sluice.offload against plain PyTorch: the same bits, or the same error.

  autograd_fuzz.py [--programs N] [--seconds N] [--first SEED]   programs SEED, SEED + 1, ... until one of the two is reached
  autograd_fuzz.py --show SEED                                   prints a program, runs it, and says what came of it
  autograd_fuzz.py --here ...                                    the same within this process

Each program is run by plain PyTorch, then several times under each of some budgets: as a step that was not seen before, as
one that follows a plan, and beside others under a budget that has seen many. Prints what differs with the program and its
seed, and a line `N programs, D of them differ, ...`; exit status 1 where one differs. Each five hundred programs have a process
of their own, as many at once as there are processors: PyTorch never lets go of some graphs, and may crash.
"""

import argparse
import collections
import concurrent.futures
import gc
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import torch

import sluice
from autograd_programs import namespace, write_program
from sluice.memory import pool

SIZES = ("70KiB", "200KiB", "500KiB", "1MiB", "2MiB", "40%", "1GiB")
SHARE = 500  # programs of a process
SAMPLED = 20  # of so many programs one is looked at for tensors that stay behind


def bits(value):
    """Layout, type, shape and bytes of a tensor; of anything else itself."""
    if not isinstance(value, torch.Tensor):
        return repr(value)
    value = value.detach()
    kind = (str(value.layout), str(value.dtype), tuple(value.shape))
    if value.layout != torch.strided:
        value = value.to_dense()
    value = value.resolve_conj().resolve_neg().contiguous().reshape(-1)
    if value.is_complex():
        value = torch.view_as_real(value).reshape(-1)
    return kind, hashlib.blake2b(value.view(torch.uint8).numpy(), digest_size=16).hexdigest()


REFUSED = "beyond what hooks of saved tensors can give"


def kind_of(error: BaseException) -> str:
    """What PyTorch and we have to agree about."""
    if str(error).startswith("sluice.offload: gradients of gradients"):
        return REFUSED
    words = ("modified by an inplace operation", "modified inplace", "new_fn INTERNAL ASSERT")  # PyTorch has many for it
    changed = any(each in str(error) for each in words)
    return f"{type(error).__name__}{': changed in place' if changed else ''}"


def asks_who_requires_gradients(text: str) -> bool:
    """Of a tensor that was detached in place since: PyTorch gives it back requiring one, whatever a hook says."""
    by_function = "checkpoint(" if torch.__version__[0] >= "2" else "use_reentrant=True"  # what checkpoints keep their inputs in
    return "detach_()" in text and by_function in text


def outcome(code, looks, within):
    """The error's kind, and the bits of all that there was to see."""
    space, error = namespace(within), None
    try:
        exec(code, space)
    except Exception as raised:
        error = kind_of(raised)
    for look in looks:
        try:
            exec(look, space)
        except NameError:  # the program did not get that far
            pass
    return error, [bits(each) for each in space["results"]]


def remains(run) -> int:
    """Bytes of tensors that are there behind a run and were not before."""
    gc.collect()
    before = pool().used()
    run()
    gc.collect()
    return pool().used() - before


def stir(value: float) -> None:
    """Leaves the number in memory that is free, for ops of PyTorch's whose result has to do with what nobody wrote."""
    left = [torch.full((size,), value) for size in (1 << 10, 1 << 12, 20000, 1 << 14, 1 << 15, 1 << 18) for _ in range(8)]
    del left


class Fuzzer:
    def __init__(self, folder: str):
        self.folder = folder
        self.old = [sluice.Offload(size, folder, file="64MiB") for size in SIZES]
        self.counts: collections.Counter = collections.Counter()

    def budgets(self, seed: int):
        """One that has seen other programs, and a new one that sees this one three times."""
        choice = random.Random(seed)
        yield choice.choice(self.old), 1
        size = choice.choice(SIZES)
        yield sluice.Offload(size, self.folder, file="64MiB"), 3 if size.endswith("%") else 2

    def run(self, seed: int) -> str | None:
        """What differs."""
        text, looks = write_program(seed)
        code = compile(text, f"program {seed}", "exec")
        plain = outcome(code, looks, torch.enable_grad)
        self.counts[plain[0] or "no error"] += 1
        for budget, repeats in self.budgets(seed):
            for repeat in range(repeats):
                ours = outcome(code, looks, lambda: budget)
                self.counts["steps"] += 1
                self.counts["moved"] += budget.last.left > 0
                if ours[0] == REFUSED or (ours[0] != plain[0] and asks_who_requires_gradients(text)):
                    self.counts[REFUSED] += 1
                elif ours != plain:
                    return self.told(seed, text, looks, f"budget {budget.last.budget}, step {repeat + 1}", plain, ours)
        if seed % SAMPLED == 0:
            # a graph that plain PyTorch never lets go (a cycle of gradients) leaves and comes at some other step
            plainly = remains(lambda: outcome(code, looks, torch.enable_grad))
            ours = remains(lambda: outcome(code, looks, lambda: budget))
            if ours > 0 and plainly == 0:
                return f"program {seed}: {ours} bytes of tensors stay behind, none of plain PyTorch's\n{text}"
        return None

    def told(self, seed, text, looks, where, plain, ours) -> str | None:
        code = compile(text, f"program {seed}", "exec")
        if any(stir(value) or outcome(code, looks, torch.enable_grad) != plain for value in (1, -1, float("nan")) * 4):
            self.counts["plain PyTorch differs from run to run"] += 1
            return None
        if plain[0] != ours[0]:
            difference = f"plain PyTorch: {plain[0]}; ours: {ours[0]}"
        else:
            wrong = [number for number, (a, b) in enumerate(zip(plain[1], ours[1])) if a != b]
            difference = f"{len(plain[1])} and {len(ours[1])} results; {wrong} differ"
        return f"program {seed}, {where}: {difference}\n{text}" + "\n".join(looks)


def fuzz(programs: int, seconds: float, first: int, folder: str, tell=print) -> tuple[int, collections.Counter]:
    """How many programs differ, and what was run."""
    gc.freeze()  # what is there for good; programs collect what they leave
    fuzzer, differ, end = Fuzzer(folder), 0, time.monotonic() + seconds
    for seed in range(first, first + programs):
        if time.monotonic() > end:
            break
        found = fuzzer.run(seed)
        fuzzer.counts["programs"] += 1
        if found is not None:
            differ += 1
            tell(found)
    return differ, fuzzer.counts


def in_processes(options) -> tuple[int, collections.Counter]:
    """The same as fuzz(), each share of the programs in a process of its own; one that crashes differs."""
    end = time.monotonic() + options.seconds

    def share(first: int):
        left, count = end - time.monotonic(), min(SHARE, options.first + options.programs - first)
        if left <= 0:
            return 0, collections.Counter()
        words = [sys.executable, __file__, "--here", "--first", first, "--programs", count, "--seconds", left]
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        *said, last = done.stdout.splitlines() or [""]
        if done.returncode not in (0, 1) or not last.startswith("{"):
            print(*said, last, f"programs {first} to {first + count - 1}: status {done.returncode}", done.stderr, sep="\n", flush=True)
            return 1, collections.Counter()
        if said:
            print(*said, sep="\n", flush=True)
        counts = collections.Counter(json.loads(last))
        return counts.pop("differ", 0), counts

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(share, range(options.first, options.first + options.programs, SHARE)))
    return sum(differ for differ, _ in found), sum((counts for _, counts in found), collections.Counter())


def show(seed: int, folder: str) -> int:
    text, looks = write_program(seed)
    print(text + "\n".join(looks))
    print(outcome(compile(text, f"program {seed}", "exec"), looks, torch.enable_grad)[0] or "no error")
    differ, counts = fuzz(1, 60, seed, folder)
    print(dict(counts))
    return differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--show", type=int)
    parser.add_argument("--here", action="store_true")
    options = parser.parse_args()
    if options.show is None and not options.here:
        differ, counts = in_processes(options)
        said = ", ".join(f"{name} {number}" for name, number in counts.most_common() if name != "programs")
        print(f"{counts['programs']} programs from seed {options.first}, {differ} of them differ, {said}")
        return min(1, differ)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=os.environ.get("SLUICE_TEST_FOLDER", "/var/tmp")) as folder:
        if options.show is not None:
            return min(1, show(options.show, folder))
        differ, counts = fuzz(options.programs, options.seconds, options.first, folder)
    print(json.dumps({**counts, "differ": differ}))
    return min(1, differ)


if __name__ == "__main__":
    sys.exit(main())

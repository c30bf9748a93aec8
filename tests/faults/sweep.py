#!/usr/bin/env python3
"""Makes the n-th call of a kind fail under a short training, for n after n, and looks at what is left.

  tests/faults/sweep.py --sluice COMMAND --library sluice_fail_calls.so [--set quick|all|soak] [--kinds write,fsync]
                        [--only write:17+] [--seed N] [--plan whole|stitched|encoded|host | --ranks]

Each run trains a few steps under a plan that moves tensors to a file (one of PLANS), with a checkpoint behind every step. It has to
  * end by itself, with status 0, 1 or 2: no crash, no hang
  * say why, where the status is not 0
  * leave a checkpoint that is whole: one of those of a run in which nothing fails, to the byte
  * have the last one of these, where the status is 0
  * leave nothing else behind
With --ranks two processes train over MPI, and the calls are those of the second one.
Every n of a kind is tried in `soak`, a selection of at most so many in `quick` and `all`: the first and the last ones, and some
in between that are drawn (the seed is printed). Each n is tried alone and, but for memory, with all calls that follow; in `quick`
by turns, and of the plan `whole` alone.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

STEPS = 3
PATIENCE = 120  # seconds of a run
MOST = {"quick": 2, "all": 60, "soak": 10**9}  # of a kind's calls
ALLOCATIONS = {"quick": 4, "all": 200, "soak": 20000}  # of which there are very many
KINDS = ["write", "pwrite", "fsync", "rename", "mmap", "fallocate", "thread", "alloc", "submit", "complete", "short"]
ENCODING = "sentinel:additions=choice+staying+in-place+ahead+lending+encode"
RESNET = ["resnet20", "--batch", "2", "--width", "4"]
SQUEEZENET = ["squeezenet1_1", "--batch", "8", "--image-size", "64", "--classes", "10", "--threads", "1"]
PLANS = {  # what is trained, how it is planned, and what the plan has to have in it
    "whole": ([*RESNET, "--threads", "1"], ["--fast", "60%"], '"migrations":'),
    "stitched": ([*RESNET, "--threads", "1"], ["--fast", "40%"], '"stitches":'),
    "encoded": ([*SQUEEZENET, "--link-bandwidth", "20MB/s"], ["--fast", "40%", "--planner", ENCODING], '"encoding":'),
    "host": ([*RESNET, "--optimizer", "adam", "--processors", "device:1,host:1"],
             ["--fast", "60%", "--planner", "joint:additions=processors", "--on", "host:update"], '"processor":1'),
}
TEXT = ["gpt2_small", "--batch", "1", "--sequence", "32", "--classes", "200", "--width", "64", "--depth", "1", "--threads", "1",
        "--optimizer", "adamw", "--planner", "fast-only"]
WRITES = ["--checkpoint", "run.ckpt", "--checkpoint-every", "1", "--losses", "losses", "--json", "result.json"]


class Training:
    """Of one process, under a plan that moves tensors to a file."""

    def __init__(self, arguments, folder):
        self.sluice, self.library, self.folder = arguments.sluice, arguments.library, folder
        self.model, self.how, self.has = PLANS[arguments.plan]
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), OMP_NUM_THREADS="1",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.prepare()
        self.whole = [self.checkpoint_of(steps) for steps in range(1, STEPS + 1)]  # what a checkpoint is behind each step

    def prepare(self):
        self.plan = self.folder / "plan.json"
        done = self.call([self.sluice, "plan", *self.model, "--slow", "file", "--spill-dir", self.folder, *self.how, "-o", self.plan],
                         self.folder)
        if done.returncode != 0:
            sys.exit(f"no plan: {done.stderr}")
        if self.has not in self.plan.read_text():
            sys.exit(f"the plan has nothing of what is to be tried: {self.has}")

    def words(self, steps, variables):
        """`variables` of the environment are set for the process that is meant."""
        return ["env", *variables, self.sluice, "train", *self.model, "--plan", self.plan, "--slow", "file", "--spill-dir", ".",
                "--steps", str(steps), *WRITES]

    def call(self, words, folder):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                              env=self.environment, cwd=folder, timeout=PATIENCE, check=False)

    def in_folder(self, steps, variables, look):
        """What `look` finds where a run with these variables has ended."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        try:
            return look(self.call(self.words(steps, variables), folder), folder)
        finally:
            shutil.rmtree(folder)

    def checkpoint_of(self, steps):
        def look(done, folder):
            if done.returncode != 0:
                sys.exit(f"training fails without a fault: {done.stderr}")
            return digest(folder / "run.ckpt")

        return self.in_folder(steps, [], look)

    def counts(self):
        def look(_, folder):
            lines = (folder / "counts").read_text().splitlines()
            return {kind: int(count) for kind, count in (line.split() for line in lines)}

        return self.in_folder(STEPS, [f"LD_PRELOAD={self.library}", "SLUICE_COUNT=counts"], look)

    def run(self, fault):
        """What is wrong, or nothing."""
        try:
            return self.in_folder(STEPS, [f"LD_PRELOAD={self.library}", f"SLUICE_FAIL={fault}"], self.judge)
        except subprocess.TimeoutExpired:
            return f"does not end within {PATIENCE} s"

    def ended_badly(self, done):
        said = (done.stderr.strip().splitlines()[-1:] or ["nothing"])[0]
        if done.returncode < 0:
            return f"ended by signal {-done.returncode}: {said}"
        if done.returncode not in (0, 1, 2):
            return f"status {done.returncode}: {said}"
        if done.returncode != 0 and said == "nothing":
            return f"status {done.returncode}, and nothing is said"
        return None

    def judge(self, done, folder):
        if bad := self.ended_badly(done):
            return bad
        left = {each.name for each in folder.iterdir()} - {"run.ckpt", "losses", "result.json"}
        if left:
            return f"leaves {', '.join(sorted(left))} (status {done.returncode})"
        checkpoint = folder / "run.ckpt"
        now = digest(checkpoint) if checkpoint.exists() else None
        if done.returncode == 0 and now != self.whole[-1]:
            return "ends well without the last checkpoint"
        if now is not None and now not in self.whole:
            return "leaves a checkpoint that is none"
        return None


class RankTraining(Training):
    """Of two processes over MPI, the second of which is meant: it ends, and so does the first."""

    def prepare(self):
        pass

    def words(self, steps, variables):
        one = [self.sluice, "train", *TEXT, "--steps", str(steps), *WRITES]
        return ["mpirun", "--oversubscribe", "-n", "1", *one, ":", "-n", "1", "env", *variables, *one]

    def ended_badly(self, done):
        return None if done.returncode == 0 or done.stderr.strip() else f"status {done.returncode}, and nothing is said"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def chosen(count, most, generator):
    """At most so many of the calls 1 to count: the ends, and some between."""
    if count <= most:
        return list(range(1, count + 1))
    ends = max(1, most // 3)
    middle = generator.sample(range(ends + 1, count - ends + 1), most - 2 * ends)
    return sorted([*range(1, ends + 1), *middle, *range(count - ends + 1, count + 1)])


def faults(counts, arguments, generator):
    for kind in arguments.kinds.split(","):
        most = (ALLOCATIONS if kind == "alloc" else MOST)[arguments.set]
        for place, call in enumerate(chosen(counts[kind], most, generator)):
            alone = kind in ("alloc", "short")  # without any memory nothing can be said or removed, and what is short is no error
            both = arguments.set != "quick" and not alone  # in the quick set by turns
            if alone or both or place % 2 == 0:
                yield f"{kind}:{call}"
            if both or (place % 2 == 1 and not alone):
                yield f"{kind}:{call}+"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--set", choices=MOST, default=os.environ.get("SLUICE_TEST_SET", "quick"))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", help="this fault alone")
    parser.add_argument("--plan", choices=PLANS, default="whole")
    parser.add_argument("--ranks", action="store_true", help="two processes over MPI")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    if arguments.set == "quick" and (arguments.ranks or arguments.plan != "whole"):
        print("skipped in the quick set")
        return 0
    if arguments.ranks and shutil.which("mpirun") is None:
        print("skipped: there is no mpirun (Debian: openmpi-bin)")
        return 0
    arguments.sluice, arguments.library = (os.path.abspath(each) for each in (arguments.sluice, arguments.library))
    with tempfile.TemporaryDirectory(prefix="sluice-faults-", dir=os.environ.get("SLUICE_FAULTS_DISK")) as folder:
        training = (RankTraining if arguments.ranks else Training)(arguments, pathlib.Path(folder))
        counts = training.counts()
        print("two ranks," if arguments.ranks else f"plan {arguments.plan},", "calls:", ", ".join(f"{kind} {counts[kind]}" for kind in KINDS), f"(seed {arguments.seed})")
        tried = [arguments.only] if arguments.only else list(faults(counts, arguments, random.Random(arguments.seed)))
        wrong = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for fault, verdict in zip(tried, pool.map(training.run, tried)):
                if verdict:
                    wrong += 1
                    print(f"{fault}: {verdict}", flush=True)
        print(f"{len(tried)} faults tried, {wrong} not outlived or not ended cleanly")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

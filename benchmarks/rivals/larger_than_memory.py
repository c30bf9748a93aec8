#!/usr/bin/python3
"""A GPT-2 whose weights and optimizer's state are several times the memory it is given: sluice.train_in beside plain PyTorch.

    larger_than_memory.py [--batch 1] [--sequence 256] [--budget 25%] [--adapter] [--alone] [--rounds 3] [--spill-dir DIR] [--json OUT]

The weights are read in place from a checkpoint that is written first. Whole: every weight is trained by AdamW; --adapter: the weights are
frozen, and low-rank products beside each linear layer are trained. Steps of both contestants alternate (contestants.py). Beside
each step stands what its bytes take at the speed of the disk, which is measured between rounds, reading and writing at once;
the bar is the larger of plain PyTorch's step and that. --alone: without plain PyTorch, where it does not fit.
"""

import json
import os
import resource
import statistics
import struct
import sys
import threading
import time

from openblas_core import fastest_core
from pytorch_step import TUNED, rival_libraries, tuned_environment
from contestants import (HERE, PYTHON, ROOT, Contestant, contest_parser, environment, require_pytorch, rotated, run_script, spread,
                         write_json)

SIZES = {"width": 1280, "depth": 24}
TRIED = 512 << 20


def arguments():
    parser = contest_parser(__doc__)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--depth", type=int, default=SIZES["depth"])
    parser.add_argument("--width", type=int, default=SIZES["width"])
    parser.add_argument("--budget", default="25%", help="of weights and state, or bytes")
    parser.add_argument("--adapter", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--core", help="which of OpenBLAS' kernels (default: the fastest, measured)")
    parser.add_argument("--contestant", choices=("plain", "ours"), help="what the script starts itself as")
    return parser.parse_args()


# -- the model

def sizes_of(options):
    from torch_models.language import TWINS

    return TWINS["gpt2_small"].sizes(batch=options.batch, sequence=options.sequence, width=options.width, depth=options.depth)


def build(options, meta):
    """On "meta" without memory for its weights; PyTorch 1.13 has no torch.device("meta") to enter."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch_models.language import TWINS

    class OnMeta(TorchFunctionMode):
        def __torch_function__(self, function, types, given=(), named=None):
            named = named or {}
            if getattr(function, "__name__", "") in ("empty", "randn", "zeros", "ones", "full"):
                named = {**named, "device": "meta"}
            return function(*given, **named)

    torch.manual_seed(0)
    sizes = sizes_of(options)
    if not meta:
        return TWINS["gpt2_small"].build(sizes)
    with OnMeta():
        model = TWINS["gpt2_small"].build(sizes)
    for module in model.modules():  # not of the checkpoint
        if getattr(module, "mask", None) is not None:
            module.mask = torch.full((sizes.sequence, sizes.sequence), -float("inf")).triu(1)
    return model


def add_adapters(model, rank=8):
    """A low-rank product beside each linear layer; everything else is frozen."""
    import torch

    class Adapted(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            self.down = torch.nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
            self.up = torch.nn.Parameter(torch.zeros(base.out_features, rank))

        def forward(self, x):
            return self.base(x) + (x @ self.down.T) @ self.up.T

    model.requires_grad_(False)
    torch.manual_seed(1)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear):
                setattr(module, name, Adapted(child))
    return model


def write_checkpoint(options, path):
    """safetensors, as anybody's: a header, then the values."""
    state = {}
    for name, value in build(options, meta=False).state_dict().items():
        if not any(value.data_ptr() == each.data_ptr() for each in state.values()):
            state[name] = value
    header, end = {}, 0
    for name, value in state.items():
        size = value.numel() * value.element_size()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in state.values():
            file.write(value.contiguous().numpy().tobytes())
        file.flush()
        os.fsync(file.fileno())
    return end


# -- a contestant

def contest(options):
    sys.path.insert(0, os.path.join(ROOT, "build/release/python"))
    if TUNED not in os.environ:  # as plain PyTorch is fastest here
        os.execve(sys.executable, [sys.executable, *sys.argv], tuned_environment(options.threads, options.core))
    import torch

    torch.set_num_threads(options.threads)
    checkpoint = os.path.join(options.spill_dir, "larger.safetensors")
    ours = options.contestant == "ours"
    before = resident()
    model = build(options, meta=ours)
    if not ours:
        load_plainly(model, checkpoint)
    trained = None
    if ours and options.adapter:
        import sluice

        base = sluice.offload_parameters(model, options.budget, options.spill_dir, checkpoint)
        model = add_adapters(model)
    elif options.adapter:
        model = add_adapters(model)
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-4)
    if ours and not options.adapter:
        import sluice

        trained = sluice.train_in(model, optimizer, options.budget, options.spill_dir, checkpoint)
    serve(options, model, optimizer, trained, base if ours and options.adapter else None, before)


def load_plainly(model, checkpoint):
    """With one tensor in memory beside the model's at a time."""
    import torch

    with open(checkpoint, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        for name, value in model.state_dict().items():
            if name in header:
                file.seek(8 + size + header[name]["data_offsets"][0])
                value.copy_(torch.frombuffer(bytearray(file.read(value.numel() * 4)), dtype=torch.float32).view(value.shape))


def serve(options, model, optimizer, trained, base, before):
    import contextlib
    import hashlib
    import torch
    from torch_models.language import next_token_inputs, next_token_loss

    loaded = resident("VmHWM") - before
    inputs = next_token_inputs(sizes_of(options), torch.Generator().manual_seed(3))
    model.train()
    for line in sys.stdin:
        request = json.loads(line)
        if request["command"] == "setup":
            print(json.dumps({"ok": True, "notes": [str(loaded)]}), flush=True)
            continue
        if request["command"] == "finish":
            digest = hashlib.sha256()
            for each in model.parameters():
                digest.update(each.detach().numpy().tobytes())
            print(json.dumps({"ok": True, "hash": digest.hexdigest()}), flush=True)
            return
        torch.manual_seed(request["step"])
        begun = time.perf_counter()
        with trained if trained is not None else contextlib.nullcontext():
            loss = next_token_loss(model, inputs)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        answer = {"ok": True, "loss": loss.item(), "step_seconds": time.perf_counter() - begun, "read": 0, "written": 0,
                  "peak": resident("VmHWM") - before}
        if trained is not None:
            report = trained.report()
            answer.update(read=report.step_read, written=report.step_written, weights=report.weights)
        if base is not None:
            report = base.report()
            answer.update(read=report.step_read, written=report.step_written)
        print(json.dumps(answer), flush=True)


def resident(field="VmRSS"):
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(field))


# -- the comparison

def disk_seconds(folder, read, written):
    """What so many bytes take, read and written at once by direct I/O in pieces of 4 MiB, eight at a time each way."""
    path = os.path.join(folder, "speed.bin")
    page = 4 << 20
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    os.posix_fallocate(file, 0, 2 * TRIED)
    import mmap

    def each_way(share, write, begin=TRIED):
        def work(number):
            buffer = mmap.mmap(-1, page)
            buffer.write(b"x" * page)
            for at in range(number * page, share, 8 * page):
                if write:
                    os.pwrite(file, buffer, begin + at)
                else:
                    os.preadv(file, [buffer], at)
        return [threading.Thread(target=work, args=(number,)) for number in range(8)]

    for half in (0, TRIED):  # what was never written is not read from the disk
        for each in (threads := each_way(TRIED, True, half)):
            each.start()
        for each in threads:
            each.join()
    scale = TRIED / max(read, written, 1)
    begun = time.perf_counter()
    threads = each_way(int(read * scale) // page * page, False) + each_way(int(written * scale) // page * page, True)
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    seconds = (time.perf_counter() - begun) / scale
    os.close(file)
    os.unlink(path)
    return seconds


def compare(options):
    os.makedirs(options.spill_dir, exist_ok=True)
    checkpoint = os.path.join(options.spill_dir, "larger.safetensors")
    total = write_checkpoint(options, checkpoint)
    all_bytes = total * (1 if options.adapter else 3)
    budget = int(float(options.budget[:-1]) / 100 * all_bytes) if options.budget.endswith("%") else options.budget
    command = [PYTHON, "-W", "ignore", os.path.abspath(__file__)]
    for name in ("batch", "sequence", "depth", "width", "threads"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--core", fastest_core(rival_libraries(options.threads)[0])["core"] if options.core is None else options.core]
    command += ["--spill-dir", options.spill_dir, "--budget", str(budget)] + ["--adapter"] * options.adapter
    print(f"{total / 2**20:.0f} MiB of weights, {all_bytes / 2**20:.0f} MiB with the optimizer's state, budget {int(budget) / 2**20:.0f} MiB")
    contestants = [Contestant(name, [*command, "--contestant", name], setup={"larger": True})
                   for name in (["ours"] if options.alone else ["plain", "ours"])]
    loaded = int(contestants[-1].notes[0])
    rows = []
    for turn in range(options.warmup + options.rounds):
        answers = {}
        for each in rotated(contestants, turn):
            answers[each.name] = each.step(turn, turn >= options.warmup)
        ours = answers["ours"]
        disk = disk_seconds(options.spill_dir, ours["read"], ours["written"])
        plain = answers.get("plain", {"step_seconds": 0, "peak": 0})
        row = {"plain": plain["step_seconds"], "ours": ours["step_seconds"], "disk": disk, "read": ours["read"],
               "written": ours["written"], "counted": turn >= options.warmup, "plain_peak": plain["peak"], "peak": ours["peak"]}
        row["ratio"] = row["ours"] / max(row["plain"], row["disk"])
        rows.append(row)
        print(f"plain {row['plain']:6.2f} s  ours {row['ours']:6.2f} s  its bytes {row['disk']:6.2f} s ({row['read'] / 1e9:.2f} GB read, "
              f"{row['written'] / 1e9:.2f} written)  ratio {row['ratio']:.2f}  peak {row['peak'] / 2**20:.0f} of "
              f"{row['plain_peak'] / 2**20:.0f} MiB", flush=True)
    same = contestants[0].losses == contestants[-1].losses
    hashes = [each.finish()["hash"] for each in contestants]
    counted = [row["ratio"] for row in rows if row["counted"]]
    bits = "nobody to compare bits with" if options.alone else (
        f"losses {'same' if same else 'DIFFER'}, parameters {'same' if hashes[0] == hashes[-1] else 'DIFFER'}")
    print(f"ratio {statistics.median(counted):.2f} ({min(counted):.2f} to {max(counted):.2f}); {bits}; loading took {loaded / 2**20:.0f} MiB")
    write_json(options.json, {**environment(), "budget": int(budget), "weights": total, "rows": rows, "ratio": spread(counted),
                              "same_losses": same, "same_parameters": hashes[0] == hashes[-1], "loading_peak": loaded})
    os.unlink(checkpoint)
    return 0 if same and hashes[0] == hashes[-1] else 1


def main():
    options = arguments()
    if options.contestant:
        return contest(options)
    require_pytorch()
    return compare(options)


if __name__ == "__main__":
    run_script(main)

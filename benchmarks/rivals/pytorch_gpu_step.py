#!/usr/bin/python3
"""Times training steps in PyTorch on an NVIDIA GPU, the way a careful user would run it there.

    pytorch_gpu_step.py MODEL:BATCH[:SEQUENCE]... [--precision fp32,bf16] [--tf32] [--deterministic]
                        [--layout auto|nhwc|nchw] [--steps N]

The step: forward, the model's loss, backward, SGD with momentum 0.9 (fused), dropout 0, on one synthetic batch that is
on the GPU already. fp32 is without TF32 unless asked for; bf16 is autocast over fp32 parameters. cuDNN tries its
algorithms and keeps the fastest (benchmark mode). Layout auto times each memory format and takes the faster. Times are
by CUDA events, one step at a time. Prints a JSON line for each model and precision: median and quartiles in seconds,
peak bytes of the allocator, versions. Exit status 77 where PyTorch or a GPU is missing.
"""

import argparse
import json
import statistics
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL:BATCH[:SEQUENCE]")
    parser.add_argument("--precision", default="fp32", help="fp32, bf16 or both, with a comma")
    parser.add_argument("--tf32", action="store_true", help="let fp32 products round their factors to TF32")
    parser.add_argument("--deterministic", action="store_true", help="deterministic algorithms of cuDNN alone")
    parser.add_argument("--layout", choices=["auto", "nhwc", "nchw"], default="auto")
    parser.add_argument("--steps", type=int, default=20)
    return parser.parse_args()


class GpuTrainer:
    def __init__(self, options, model, batch, sequence, precision, layout):
        import torch

        from torch_models import MODELS

        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.deterministic = options.deterministic
        torch.backends.cudnn.allow_tf32 = options.tf32
        torch.backends.cuda.matmul.allow_tf32 = options.tf32
        if model not in MODELS:
            sys.exit(f"pytorch_gpu_step: unknown model {model}; known: {', '.join(MODELS)}")
        twin = MODELS[model]
        sizes = twin.sizes(batch=batch, sequence=sequence, dropout=0.0)
        memory_format = torch.channels_last if layout == "nhwc" else torch.contiguous_format
        self.torch = torch
        self.stages = twin.stages
        self.autocast = precision == "bf16"
        self.model = twin.build(sizes).cuda().to(memory_format=memory_format)
        self.inputs = tuple(tensor.cuda().to(memory_format=memory_format) if tensor.dim() == 4 else tensor.cuda()
                            for tensor in twin.inputs(sizes, torch.Generator().manual_seed(0)))
        self.optimizers = [
            torch.optim.SGD([parameter for name, parameter in self.model.named_parameters()
                             if name.startswith(stage.trained_prefix) and parameter.requires_grad],
                            lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True) for stage in self.stages]

    def step(self):
        for stage, optimizer in zip(self.stages, self.optimizers):
            optimizer.zero_grad(set_to_none=True)
            with self.torch.autocast("cuda", dtype=self.torch.bfloat16, enabled=self.autocast):
                loss = stage.loss(self.model, self.inputs)
            loss.backward()
            optimizer.step()

    def seconds(self):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self.step()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3


def time_steps(trainer, steps, warmup):
    for _ in range(warmup):
        trainer.seconds()
    return [trainer.seconds() for _ in range(steps)]


def measure(torch, options, model, batch, sequence, precision):
    results = {}
    for layout in ["nchw", "nhwc"] if options.layout == "auto" else [options.layout]:
        trainer = GpuTrainer(options, model, batch, sequence, precision, layout)
        if layout == "nhwc" and not any(tensor.dim() == 4 for tensor in trainer.inputs):
            break
        torch.cuda.reset_peak_memory_stats()
        times = time_steps(trainer, options.steps, warmup=8)
        quartiles = statistics.quantiles(times, n=4)
        results[layout] = {"step_seconds": statistics.median(times), "q1": quartiles[0], "q3": quartiles[2],
                           "peak_bytes": torch.cuda.max_memory_allocated()}
        del trainer
        torch.cuda.empty_cache()
    best = min(results, key=lambda layout: results[layout]["step_seconds"])
    return {"model": model, "batch": batch, "sequence": sequence, "precision": precision, "tf32": options.tf32,
            "deterministic": options.deterministic, "layout": best, **results[best], "by_layout": results,
            "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}


def main():
    options = arguments()
    try:
        import torch
    except ImportError:
        print("pytorch_gpu_step: skipped: PyTorch is not installed")
        sys.exit(77)
    if not torch.cuda.is_available():
        print("pytorch_gpu_step: skipped: PyTorch sees no GPU")
        sys.exit(77)
    for text in options.models:
        model, batch, sequence = (text.split(":") + ["0"])[:3]
        for precision in options.precision.split(","):
            print(json.dumps(measure(torch, options, model, int(batch), int(sequence), precision)), flush=True)


if __name__ == "__main__":
    main()

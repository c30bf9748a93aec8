#!/usr/bin/python3
"""Checks that networks exported by PyTorch give the same results in Sluice, and train there.

    benchmarks/rivals/check_onnx.py [MODEL...] [--build build/release] [--keep FOLDER] [--steps 3]

Exports each network (export_onnx.py), runs it forward in Sluice on the same data, in evaluation mode and, where it has
no dropout, in training mode, and compares the first output with PyTorch's: the largest difference, relative to the
largest output, must be at most 1e-4. Then trains a few steps with `sluice train --onnx` and exports the weights back.
Prints one line a network; exits with 1 when one fails. Needs python3-torch, python3-torchvision and python3-onnx, and a
build with tests (tests/onnx/onnx_forward).
"""
import argparse
import pathlib
import sys
import tempfile

try:
    import numpy
    import onnx
    import torch  # noqa: F401
    import torchvision  # noqa: F401
except ImportError as missing:
    print(f"check_onnx: skipped: {missing}")
    sys.exit(0)

import contestants as processes
import export_onnx
from onnx_models import BATCH, MODELS

LIMIT = 1e-4


def time_major(path):
    """The open axis of token inputs that come as [T, B] is the second."""
    dimensions = onnx.load(str(path), load_external_data=False).graph.input[0].type.tensor_type.shape.dim
    return len(dimensions) == 2 and not dimensions[0].dim_param


def run(command):
    done = processes.run(command)
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])


def difference(name, folder, build, mode):
    path = folder / f"{name}.onnx"
    expected = numpy.fromfile(folder / f"{name}.{mode}.bin", numpy.float32)
    inputs = sorted(folder.glob(f"{name}.input*.bin"))
    if time_major(path):  # Sluice feeds, and reads out, one sequence after the other
        tokens = numpy.fromfile(inputs[0], numpy.int32).reshape(-1, BATCH)
        expected = expected.reshape(len(tokens), BATCH, -1).swapaxes(0, 1).ravel()
        inputs = [folder / f"{name}.turned.bin"]
        tokens.T.tofile(inputs[0])
    output = folder / f"{name}.sluice.bin"
    run([build / "tests/onnx/onnx_forward", path, mode, BATCH, output, *inputs])
    got = numpy.fromfile(output, numpy.float32)
    if got.shape != expected.shape:
        raise RuntimeError(f"{got.size} outputs instead of {expected.size}")
    return float(abs(got - expected).max() / abs(expected).max())


def train(name, folder, build, steps):
    trained = folder / f"{name}.trained.onnx"
    run([build / "tools/sluice", "train", "--onnx", folder / f"{name}.onnx", "--batch", BATCH, "--steps", steps,
         "--planner", "fast-only", "--lr", "0.001", "--export-onnx", trained])
    onnx.checker.check_model(str(trained))


def check(name, folder, build, steps):
    """The line to print, and whether all is well."""
    try:
        export_onnx.export(name, folder, 17 if name in ("bert", "gpt") else 15, quiet=True)
        errors = {mode: difference(name, folder, build, mode) for mode in ("eval", "train")
                  if (folder / f"{name}.{mode}.bin").exists()}
        train(name, folder, build, steps)
    except (RuntimeError, onnx.checker.ValidationError) as wrong:
        return f"{name:<20} FAILED  {wrong}", False
    good = max(errors.values()) <= LIMIT
    shown = "  ".join(f"{mode} {error:.1e}" for mode, error in errors.items())
    return f"{name:<20} {'ok' if good else 'FAILED':<7} {shown:<32} trains, exports", good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; all when none is named")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--keep", type=pathlib.Path, help="keep the files in this folder")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        results = []
        for name in arguments.models or MODELS:
            folder = arguments.keep or pathlib.Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            line, good = check(name, folder, build, arguments.steps)
            print(line, flush=True)
            results.append(good)
            if arguments.keep is None:
                for made in folder.glob(f"{name}.*"):
                    made.unlink()
    print(f"{sum(results)} of {len(results)} match PyTorch to {LIMIT:g} and train")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()

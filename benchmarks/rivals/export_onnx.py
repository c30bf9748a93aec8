#!/usr/bin/python3
"""Exports networks from PyTorch to ONNX in training mode, with what PyTorch computes for one batch beside each.

    benchmarks/rivals/export_onnx.py FOLDER [MODEL...] [--opset 15]

Writes FOLDER/MODEL.onnx, FOLDER/MODEL.input<i>.bin (float32 or int32), FOLDER/MODEL.eval.bin (the first output in
evaluation mode, float32) and, for networks without dropout, FOLDER/MODEL.train.bin (the same in training mode).
"""
import argparse
import pathlib
import sys
import warnings

import numpy
import onnx
import torch
from onnx import numpy_helper

from onnx_models import MODELS


def first(outputs):
    return outputs[0] if isinstance(outputs, tuple) else outputs


def restore(module, path):
    """Tracing in training mode moves running statistics; the file's values are the ones that Sluice reads."""
    state = module.state_dict()
    for tensor in onnx.load(str(path)).graph.initializer:
        if tensor.name in state:
            state[tensor.name].copy_(torch.from_numpy(numpy_helper.to_array(tensor).copy()))


def drops(module):
    return any(isinstance(part, torch.nn.Dropout) and part.p > 0 for part in module.modules()) or any(
        isinstance(part, torch.nn.LSTM) and part.dropout > 0 for part in module.modules())


def export(name, folder, opset, quiet=False):
    torch.manual_seed(17)
    module, inputs, names, axes = MODELS[name]()
    path = folder / f"{name}.onnx"
    module.train()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, str(path), input_names=names, output_names=["logits"], dynamic_axes=axes,
                          opset_version=opset, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    with torch.no_grad():
        restore(module, path)
        module.eval()
        evaluated = first(module(*inputs))
        module.train()
        trained = None if drops(module) else first(module(*inputs))
    for index, value in enumerate(inputs):
        kind = numpy.float32 if value.is_floating_point() else numpy.int32
        value.numpy().astype(kind).tofile(folder / f"{name}.input{index}.bin")
    evaluated.numpy().tofile(folder / f"{name}.eval.bin")
    if trained is not None:
        trained.numpy().tofile(folder / f"{name}.train.bin")
    if not quiet:
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; all when none is named")
    parser.add_argument("--opset", type=int, default=15)
    arguments = parser.parse_args()
    unknown = set(arguments.models) - set(MODELS)
    if unknown:
        sys.exit(f"export_onnx: unknown models {', '.join(sorted(unknown))}; known: {', '.join(MODELS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.models or MODELS:
        export(name, arguments.folder, arguments.opset)


if __name__ == "__main__":
    main()

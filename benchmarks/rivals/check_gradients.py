#!/usr/bin/python3
"""Compares one training step's gradients, parameter by parameter, with PyTorch's, from the same weights and data.

    check_gradients.py [MODEL...] [--batch B] [--binary SLUICE] [--json OUT]

`sluice gradients` writes its initial parameters, the step's data and the gradients; PyTorch computes the step from the
same values in double precision, which stands for the truth, and in single precision, for comparison. The error of a
gradient is the largest difference of an element by the largest element of PyTorch's. Dropout is off.
The step is only comparable as long as it is smooth: a batch of a few samples at the published image sizes.
Exit status: 1 when an error is 1e-4 or more, 77 when PyTorch is not installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT = 1e-4
BATCHES = {"resnet32": 16, "resnet50": 4, "vgg16": 2, "inception_v3": 4, "densenet121": 4, "mobilenet_v2": 8,
           "squeezenet1_1": 4, "lstm": 20, "bert_base": 2, "gpt2_small": 1, "dcgan": 32}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(BATCHES)} (default: all)")
    parser.add_argument("--batch", type=int, help="instead of each model's own")
    parser.add_argument("--binary", default=os.path.join(ROOT, "build/release/tools/sluice"))
    parser.add_argument("--json", help="write the results to this file too")
    options = parser.parse_args()
    unknown = set(options.models) - set(BATCHES)
    if unknown:
        parser.error(f"unknown model {', '.join(sorted(unknown))}; known: {', '.join(BATCHES)}")
    return options


def sluice_step(options, model, batch, folder):
    command = [options.binary, "gradients", model, "--batch", str(batch), "--output", folder]
    if model in ("lstm", "bert_base", "gpt2_small"):
        command += ["--dropout", "0"]
    outcome = subprocess.run(command, capture_output=True, text=True)
    if outcome.returncode != 0:
        sys.exit(f"check_gradients: {' '.join(command)} failed:\n{outcome.stdout}{outcome.stderr}")
    with open(os.path.join(folder, "manifest.json")) as file:
        return json.load(file)


def read(folder, name, shape, dtype="float32"):
    return numpy.fromfile(os.path.join(folder, name), dtype=dtype).reshape(shape)


def pytorch_step(model, batch, folder, manifest, dtype):
    """The loss and the gradients, in the order of the manifest's parameters."""
    twin = torch_models.MODELS[model]
    sizes = twin.sizes(batch=batch, dropout=0.0)
    module = twin.build(sizes).to(dtype)
    torch_models.set_graph_values(
        module, [read(folder, entry["file"], entry["shape"]) for entry in manifest["parameters"]])
    inputs = []
    for entry in manifest["inputs"]:
        values = torch.from_numpy(read(folder, entry["file"], entry["shape"],
                                       "int32" if entry["dtype"] == "i32" else "float32"))
        inputs.append(values.to(dtype) if values.is_floating_point() else values.long())
    total, kept = 0.0, {}
    for stage in twin.stages:
        module.zero_grad(set_to_none=True)
        loss = stage.loss(module, tuple(inputs))
        loss.backward()
        total += loss.item()
        trained = [parameter for name, parameter in module.named_parameters() if name.startswith(stage.trained_prefix)]
        kept.update({id(parameter): parameter.grad for parameter in trained})
        if len(twin.stages) > 1:
            learn(trained, manifest)
    for parameter in module.parameters():
        parameter.grad = kept.get(id(parameter))
    return total, torch_models.graph_gradients(module)


def learn(parameters, manifest):
    """The first step of SGD with momentum: what later stages of the step see."""
    settings = manifest["settings"]
    with torch.no_grad():
        for parameter in parameters:
            parameter -= settings["learning_rate"] * (parameter.grad + settings["weight_decay"] * parameter)


def error_of(gradient, truth):
    scale = truth.abs().max().item()
    difference = (gradient.double() - truth.double()).abs().max().item()
    return difference / scale if scale > 0 else difference


def check(options, model):
    batch = options.batch or BATCHES[model]
    with tempfile.TemporaryDirectory() as folder:
        manifest = sluice_step(options, model, batch, folder)
        loss, truth = pytorch_step(model, batch, folder, manifest, torch.float64)
        _, single = pytorch_step(model, batch, folder, manifest, torch.float32)
        errors = [(error_of(torch.from_numpy(read(folder, entry["gradient"], entry["shape"])), expected), entry["name"])
                  for entry, expected in zip(manifest["parameters"], truth)]
    worst, where = max(errors)
    return {"model": model, "batch": batch, "parameters": len(errors), "loss": manifest["loss"], "pytorch_loss": loss,
            "max_relative_error": worst, "at": where,
            "pytorch_single_precision": max(error_of(ours, expected) for ours, expected in zip(single, truth))}


def main():
    options = arguments()
    print(f"{'model':16} {'batch':>5} {'gradients':>9} {'loss':>11} {'PyTorch':>11} {'max error':>10} "
          f"{'PyTorch fp32':>12}  worst parameter")
    rows = []
    for model in options.models or BATCHES:
        row = check(options, model)
        rows.append(row)
        print(f"{row['model']:16} {row['batch']:5} {row['parameters']:9} {row['loss']:11.6f} {row['pytorch_loss']:11.6f} "
              f"{row['max_relative_error']:10.1e} {row['pytorch_single_precision']:12.1e}  {row['at']}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"limit": LIMIT, "models": rows}, file, indent=1)
            file.write("\n")
    sys.exit(any(row["max_relative_error"] >= LIMIT for row in rows))


if __name__ == "__main__":
    try:
        import numpy
        import torch

        import torch_models
    except ImportError as missing:
        print(f"skipped: {missing}; run scripts/install_packages.sh rivals")
        sys.exit(77)
    main()

#!/usr/bin/python3
"""Compares one training step's gradients, parameter by parameter, with PyTorch's, from the same weights and data.

    check_gradients.py [MODEL...] [--binary SLUICE] [--json OUT]

`sluice gradients` writes its initial parameters, the step's data and the gradients; PyTorch computes the step from the
same values in double precision, which stands for the truth, and in single precision, for comparison. The error of a
gradient is the largest difference of an element by the largest element of PyTorch's. Dropout is off.

A gradient that is zero in exact arithmetic (an attention key's bias) is judged by the model's largest.

A ReLU whose input is within rounding of zero may be on in one precision and off in another, and then its whole gradient
differs: among the tens of millions of a full-sized image network some always are, in PyTorch's single precision as
well, and there are no digits left to compare. So the scales and shifts of batch norms before an activation are set,
on both sides, to keep every element far from zero: by turns a channel is on and off (residual sums: on). Max pooling
bends where the two largest of a window are equal to rounding: image networks are checked on small images, and a seed
is passed over when PyTorch's own two precisions disagree by more than half the limit. The table says which it was.
Exit status: 1 when an error is 1e-4 or more, 77 when PyTorch is not installed.
"""

import json
import os
import re
import sys
import tempfile

from contestants import parser_of, run_well, write_json

LIMIT = 1e-4
SEEDS = 8
AS_THEY_START = ("densenet121", "mobilenet_v2")  # padding beside a constant is itself far from the mean: narrow instead
NORM_SCALE, NORM_SHIFT = 0.6, 3.0  # of batch norms: five deviations from ReLU's bend, and from ReLU6's second
ZERO = 1e-4  # of the model's largest gradient: no gradient is judged by less
SIZES = {
    "resnet32": {"batch": 32}, "resnet50": {"batch": 8, "image_size": 64}, "vgg16": {"batch": 2, "image_size": 64},
    "inception_v3": {"batch": 8, "image_size": 107}, "densenet121": {"batch": 16, "image_size": 32, "width": 8},
    "mobilenet_v2": {"batch": 32, "image_size": 32, "width": 8}, "squeezenet1_1": {"batch": 4, "image_size": 64},
    "lstm": {"batch": 20, "dropout": 0}, "bert_base": {"batch": 2, "dropout": 0},
    "gpt2_small": {"batch": 1, "sequence": 256, "dropout": 0}, "dcgan": {"batch": 16}}


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(SIZES)} (default: all)")
    options = parser.parse_args()
    unknown = set(options.models) - set(SIZES)
    if unknown:
        parser.error(f"unknown model {', '.join(sorted(unknown))}; known: {', '.join(SIZES)}")
    return options


def sluice_step(options, model, seed, folder, parameters=None):
    command = [options.sluice, "gradients", model, "--output", folder, f"--seed={seed}",
               *(f"--{name.replace('_', '-')}={value}" for name, value in SIZES[model].items()),
               *(["--parameters", parameters] if parameters else [])]
    run_well(command)
    with open(os.path.join(folder, "manifest.json")) as file:
        return json.load(file)


def move_from_bends(folder, manifest):
    """Rewrites the scale and shift of every batch norm; says whether there was one."""
    norms = [entry for entry in manifest["parameters"] if entry["name"].endswith("bn.scale_shift")]
    for entry in norms:
        values = read(folder, entry["file"], entry["shape"])
        values[0] = NORM_SCALE
        values[1] = NORM_SHIFT
        if not re.search(r"layer\d+\.\d+\.(conv[23]|downsample|shortcut)", entry["name"]):
            values[1, 1::2] = -NORM_SHIFT
        values.tofile(os.path.join(folder, entry["file"]))
    return bool(norms)


def read(folder, name, shape, dtype="float32"):
    return numpy.fromfile(os.path.join(folder, name), dtype=dtype).reshape(shape)


def pytorch_step(model, folder, manifest, dtype):
    """The loss and the gradients, in the order of the manifest's parameters."""
    twin = torch_models.MODELS[model]
    sizes = twin.sizes(**{**SIZES[model], "dropout": 0.0})
    module = twin.build(sizes).to(dtype)
    torch_models.set_graph_values(
        module, [read(folder, entry["file"], entry["shape"]) for entry in manifest["parameters"]])
    inputs = []
    for entry in manifest["inputs"]:
        values = torch.from_numpy(read(folder, entry["file"], entry["shape"],
                                       entry["dtype"]))
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


def errors_of(gradients, truth):
    smallest = ZERO * max(gradient.abs().max().item() for gradient in truth)
    return [(gradient.double() - expected.double()).abs().max().item() / max(expected.abs().max().item(), smallest)
            for gradient, expected in zip(gradients, truth)]


def step_of_both(options, model, seed):
    """Sluice's manifest, PyTorch's loss, and each parameter's error: Sluice's, and PyTorch's in single precision."""
    with tempfile.TemporaryDirectory() as start, tempfile.TemporaryDirectory() as folder:
        manifest = sluice_step(options, model, seed, start)
        if model not in AS_THEY_START and move_from_bends(start, manifest):
            manifest = sluice_step(options, model, seed, folder, start)
        else:
            folder = start
        loss, truth = pytorch_step(model, folder, manifest, torch.float64)
        _, single = pytorch_step(model, folder, manifest, torch.float32)
        ours = [torch.from_numpy(read(folder, entry["gradient"], entry["shape"])) for entry in manifest["parameters"]]
    return manifest, loss, errors_of(ours, truth), errors_of(single, truth)


def check(options, model):
    for seed in range(1, SEEDS + 1):
        manifest, loss, ours, single = step_of_both(options, model, seed)
        if max(single) <= LIMIT / 2:
            break
    worst, where = max(zip(ours, (entry["name"] for entry in manifest["parameters"])))
    return {"model": model, **SIZES[model], "seed": seed, "parameters": len(ours), "loss": manifest["loss"],
            "pytorch_loss": loss, "max_relative_error": worst, "at": where, "pytorch_single_precision": max(single)}


def main():
    options = arguments()
    print(f"{'model':16} {'batch':>5} {'seed':>4} {'gradients':>9} {'loss':>11} {'PyTorch':>11} {'max error':>10} "
          f"{'PyTorch fp32':>12}  worst parameter")
    rows = []
    for model in options.models or SIZES:
        row = check(options, model)
        rows.append(row)
        print(f"{row['model']:16} {row['batch']:5} {row['seed']:4} {row['parameters']:9} {row['loss']:11.6f} {row['pytorch_loss']:11.6f} "
              f"{row['max_relative_error']:10.1e} {row['pytorch_single_precision']:12.1e}  {row['at']}", flush=True)
    write_json(options.json, {"limit": LIMIT, "models": rows})
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

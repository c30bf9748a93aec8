#!/usr/bin/env bash
# Makes a wheel of this build and uses it from a folder of its own: its name says which PyTorch it is for, and it brings the
# command. Exit status 77 where Python cannot make wheels.
#
#   wheel_test.sh SOURCES BUILD PYTHON
set -euo pipefail
sources=$1 build=$2 python=$3
"$python" -c 'import importlib.util as u; assert all(map(u.find_spec, ("pip", "setuptools", "wheel", "torch")))' 2>/dev/null || { echo "skipped: $python has no pip, setuptools, wheel or PyTorch"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work" "$sources/python/build" "$sources"/python/*.egg-info' EXIT

SLUICE_BUILD=$build "$python" -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps --wheel-dir "$work" "$sources/python"
torch=$("$python" -c 'import torch; print(".".join(torch.__version__.split(".")[:2]))')
ls "$work"/sluice-*+torch"$torch"-*.whl

"$python" -m zipfile -e "$work"/sluice-*.whl "$work/unpacked"
chmod +x "$work/unpacked/sluice/bin/sluice"  # which pip does
cd "$work"
env -u SLUICE_COMMAND PYTHONPATH="$work/unpacked" "$python" -W ignore - <<'PYTHON'
import sluice, torch

assert sluice.__file__.endswith("unpacked/sluice/__init__.py"), sluice.__file__
weight = torch.randn(256, 256, requires_grad=True)
with sluice.offload(fast="1MiB", to="."):
    (weight @ weight).sum().backward()
assert sluice.planners()
print("the wheel works")
PYTHON

#!/usr/bin/env bash
# Runs docs/tutorial.md from its first command to its last, with small batches and few steps, so that the page stays true.
#
#   scripts/check_tutorial.sh [--bin DIR]   DIR holds the built `sluice` (default build/release/tools)
#
# Its Python blocks become the files that the page names, in order. Ends with 77 where PyTorch or onnx is missing (Debian:
# python3-torch, python3-onnx), and fails where a command does or where the network that comes back lacks weights.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly page=$root/docs/tutorial.md files=(my_model.py back.py)
readonly make_small='
  s/^python3/\/usr\/bin\/python3/
  s/--batch 32/--batch 4/
  s/--fast 20%/--fast 60%/
  s/--fast 150MiB/--fast 60MiB/
  s/--steps 30/--steps 2/
  s/--steps 36/--steps 3/
  s/--steps 4/--steps 3/
'
bin=$root/build/release/tools
if [[ ${1:-} == --bin ]]; then bin=$(cd "${2:?--bin needs a folder}" && pwd); fi
if ! /usr/bin/python3 -c 'import torch; from onnx import numpy_helper' 2>/dev/null; then
  echo "check_tutorial: skipped: python3-torch or python3-onnx is missing"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$root/docs" docs
for i in "${!files[@]}"; do
  awk -v wanted="$i" '/^```python$/ { inside = 1; next } /^```/ { if (inside) block++; inside = 0 } inside && block == wanted' "$page" \
    >"${files[i]}"
done
ran=0
while IFS= read -r command; do
  command=$(sed -E "$make_small" <<<"$command")
  ran=$((ran + 1))
  if ! PATH=$bin:$PATH timeout 300 bash -c "$command" >log 2>&1 </dev/null; then
    echo "$page: failed: $command"
    tail -n 20 log
    exit 1
  fi
done < <(awk '/^```console/ { inside = 1; next } /^```/ { inside = 0 } inside && /^\$ / { print substr($0, 3) }' "$page")
grep -q "not in the file: \[\]" log || { echo "check_tutorial: weights were lost on the way back"; cat log; exit 1; }
echo "check_tutorial: $ran commands"
((ran > 0))

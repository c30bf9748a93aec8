#!/usr/bin/env bash
# Trains on processors of 2008 (SSE 4.2) and 2013 (AVX2), emulated by QEMU: what needs more is chosen at run time. The loss is this
# processor's within rounding. Exit status 77 where there is no QEMU for programs.
#
#   older_processors_test.sh SLUICE
set -euo pipefail
sluice=$1
command -v qemu-x86_64 >/dev/null || { echo "skipped: no qemu-x86_64 (qemu-user)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work OMP_NUM_THREADS=1

# Of the last of two steps, with activations on the disk.
loss_by() {
  "$@" "$sluice" train resnet20 --batch 2 --steps 2 --threads 1 --fast 70% --planner sentinel --spill-dir "$work" \
    --json "$work/run.json" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["final_loss"])' "$work/run.json"
}

here=$(loss_by env)
for processor in Nehalem Haswell; do
  there=$(loss_by qemu-x86_64 -cpu "$processor")
  echo "$processor (emulated): loss $there; here: $here"
  python3 - "$here" "$there" <<'PYTHON'
import sys
one, other = map(float, sys.argv[1:])
assert abs(one - other) < 1e-4 * abs(one), (one, other)
PYTHON
done

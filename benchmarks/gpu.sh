#!/usr/bin/env bash
# What docs/results/gpu.md holds: training on an NVIDIA GPU, beside PyTorch on the same one.
#
#   benchmarks/gpu.sh OUT [ROW...]    rows: machine tests resnet50 pytorch bf16 bert_base gpt2_small bert_large largest sanitizers
#
# BUILD (default build/release) is where the binaries are, PYTHON (default python3) has PyTorch. About five minutes in all.
# Each row prints and writes OUT/gpu_ROW.txt, and .json where there are numbers; a row that fails says so and the others go
# on. `benchmarks/reproduce.py gpu_ROW` keeps a row in docs/results.
set -uo pipefail
out=$(realpath "${1:?where to}")
shift
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "${BUILD:-$here/build/release}")
sluice=$(ls "$build/tools/sluice" "$build/sluice" 2>/dev/null | head -1)
test_program() { ls "$build/sluice/$1" "$build/tests/e2e/$1" "$build/$1" 2>/dev/null | head -1; }
python=${PYTHON:-python3}
rows=${*:-machine tests resnet50 pytorch bf16 bert_base gpt2_small bert_large largest sanitizers}
mkdir -p "$out"

compare() {  # ROW MODEL ARGUMENTS...
  local row=$1; shift
  "$sluice" compare "$@" --gpu --planners fast-only,joint --fast 20% --steps 14 --starts 1 --json "$out/gpu_$row.json"
}
steps() {  # SUFFIX MODEL ARGUMENTS...
  local suffix=$1; shift
  "$sluice" train "$@" --gpu --planner fast-only --steps 14 --json "$out/gpu_$1$suffix.json" 2>&1 |
    grep -E "step time|final loss"
}

run_row() {
  local row=$1
  case $row in
    machine)
      nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,pcie.link.gen.max --format=csv,noheader
      "$sluice" machine --gpu --json "$out/gpu_machine.json" ;;
    tests)
      for suite in backends measure exec; do
        "$(test_program "sluice_${suite}_test")" --gtest_filter='Cuda/*:*OnGpu*' --gtest_brief=1
      done
      "$(test_program sluice_e2e_test)" --gtest_filter="${FAMILIES:-*Gpu*}" --gtest_brief=1 ;;
    resnet50) compare resnet50 resnet50 --batch 32 ;;
    pytorch)
      (cd "$here/benchmarks/rivals" && LD_LIBRARY_PATH=${PYTHON_LIBRARY_PATH:-} "$python" pytorch_gpu_step.py resnet50:32 bert_base:8 \
        gpt2_small:4:1024 --precision fp32,bf16 | tee "$out/gpu_pytorch.jsonl") ;;
    bf16)
      for model in "resnet50 --batch 32" "bert_base --batch 8 --dropout 0" "gpt2_small --batch 4 --dropout 0"; do
        echo "$model"
        # shellcheck disable=SC2086  # the model's arguments are words
        steps _bf16 $model --precision bf16
      done ;;
    bert_base) steps "" bert_base --batch 8 --dropout 0 ;;
    gpt2_small) compare gpt2_small gpt2_small --batch 4 --dropout 0 ;;
    bert_large) compare bert_large bert_large --batch 8 --dropout 0 ;;
    largest)
      # 11 GiB hold a step of 10 sequences when nothing moves.
      "$sluice" train gpt2_small --batch 24 --dropout 0 --gpu --planner joint --fast 11GiB --steps 5 --json "$out/gpu_largest.json" ;;
    sanitizers)
      for tool in memcheck racecheck; do
        for suite in backends measure exec; do
          echo "$tool, $suite"
          compute-sanitizer --tool $tool --error-exitcode 9 "$(test_program "sluice_${suite}_test")" \
            --gtest_filter='Cuda/FastBackends.MatchesReference*:*OnGpu*' --gtest_brief=1 2>&1 | tail -3
        done
      done ;;
    *) echo "gpu.sh: no row '$row'" >&2; return 2 ;;
  esac
}

for row in $rows; do
  begin=$SECONDS
  # sources by their place in the repository
  { run_row "$row" 2>&1 || echo "gpu.sh: row $row failed"; } | sed -E 's#/[^ "]*/((sluice|tests)/[a-z0-9_/]+\.[ch]pp)#\1#g' | tee "$out/gpu_$row.txt"
  echo "== $row ($((SECONDS - begin)) s)" >&2
  ! grep -q "^gpu.sh: row $row failed" "$out/gpu_$row.txt" || failed=1
done
exit "${failed:-0}"

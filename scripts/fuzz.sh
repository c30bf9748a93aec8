#!/usr/bin/env bash
# Runs the fuzzing targets (tests/fuzz) under libFuzzer with the address and undefined-behaviour sanitizers, within 1 GiB of
# memory and a second an input.
#
#   scripts/fuzz.sh                         every target, 1,000,000 inputs or an hour each, whatever is first
#   scripts/fuzz.sh --runs N --seconds S --seed K [TARGET...]
#
# What is found is kept as build/fuzz/found/TARGET/crash-*; `build/fuzz/tests/fuzz/sluice_fuzz_TARGET FILE` shows it again.
# Ends with a line for each target and `N passed, N failed`. Needs clang 16 (scripts/install_packages.sh soak).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=1000000 seconds=3600 seed=1 targets=()
while (($#)); do
  case $1 in
    --runs) runs=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --seed) seed=$2; shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
((${#targets[@]})) || mapfile -t targets < <(ls tests/fuzz/corpus)

cmake --preset fuzz >/dev/null && cmake --build --preset fuzz --parallel "$(nproc)" --target "${targets[@]/#/sluice_fuzz_}" || exit 1

passed=0 failed=0
run_target() {
  local found=build/fuzz/found/$1 log
  # A model may make constants of 2^24 numbers, which takes sanitizers longer than a second.
  local timeout=1
  [[ $1 == onnx ]] && timeout=10
  mkdir -p "$found" "build/fuzz/corpus/$1"
  log=$found/log
  build/fuzz/tests/fuzz/sluice_fuzz_"$1" -runs="$runs" -max_total_time="$seconds" -seed="$seed" -timeout="$timeout" \
    -rss_limit_mb=1024 -malloc_limit_mb=1024 -artifact_prefix="$found/" "build/fuzz/corpus/$1" "tests/fuzz/corpus/$1" >"$log" 2>&1
  local status=$?
  echo "$1: exit $status; $(grep -E '^(Done|[0-9]+ plans)' "$log" | tr '\n' ' ')"
  if ((status == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)); tail -n 30 "$log"; fi
}
for target in "${targets[@]}"; do run_target "$target"; done
echo "$passed passed, $failed failed"
((failed == 0))

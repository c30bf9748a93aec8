#!/usr/bin/env bash
# Tests everything, from a bare Debian 12 machine to the last sanitizer; about 80 minutes on two cores.
#
#   scripts/test.sh             all stages, in this order
#   scripts/test.sh STAGE...    only these
#
#   packages  installs the Debian packages that are missing
#   build     release build of the libraries, the command and all tests
#   tests     every test of that build: unit, CLI, end to end, install, include directions
#   format    layout against .clang-format
#   names     names against .clang-tidy, in the files that changed (scripts/check_tidy.sh reads all of them)
#   docs      holds the README's tables against the kept results, and runs the examples of the README and docs/
#   asan      files and JSON, memory, transfers, accesses, plan, kernels, exec, ONNX, train and experiment tests under the address and
#             undefined-behaviour sanitizers, those for GPUs on an emulated one
#   tsan      the tests of the transfer lanes, of an emulated GPU's streams, of saved tensors and of access counting under
#             the thread sanitizer
#   numa      memory nodes as tiers, in a small virtual machine; skipped, with the reason, without QEMU or network
#
# A stage that fails does not stop the later ones. Ends with the time of each stage and `N passed, N failed`: the sum of
# the tests that CTest ran, and one for each other check. Exit status 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly all_stages=(packages build tests format names docs asan tsan numa)
readonly sanitized="base memory encoding transfer observe profile plan verify program kernels kernels_reference kernels_onednn backends exec measure probe offload data onnx onnx_import onnx_node train experiment"
# Only tests without OpenMP kernels: GCC's libgomp is not built for the thread sanitizer, so its barriers are invisible
# to it and every parallel kernel looks like a race. These are the suites with threads of our own.
readonly tsan_suites="TransferLanes ComputeLanes TransferEngines ThrottledEngine UringEngineTest Executor RandomPrograms Progress SameBits PageTracker ChunkQueue SameBitsOnGpu SavedStoreTest PagePoolTest"
jobs=$(nproc)
passed=0 failed=0

# count STATUS: one check more.
count() { if (($1 == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)); fi; return "$1"; }

# run_ctest BUILD ARG...: runs tests and adds its totals to ours.
run_ctest() {
  local build=$1 log status summary
  shift
  log=$(mktemp)
  ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$jobs" "$@" >"$log" 2>&1
  status=$?
  grep -vE '^ *Start +[0-9]+:|Test +#[0-9]+: .* Passed |^ *$' "$log" | tail -n 200
  summary=$(grep -oE '[0-9]+ tests? failed out of [0-9]+' "$log" | tail -n 1)
  rm -f "$log"
  if [[ -z $summary ]]; then count 1; return; fi
  local bad total
  read -r bad total <<<"$(tr -dc '0-9 \n' <<<"$summary" | tr -s ' ')"
  failed=$((failed + bad))
  passed=$((passed + total - bad))
  return "$status"
}

# configure PRESET (scripts/demo.sh leaves the tests of the release build switched off)
configure() {
  cmake --preset "$1" -DSLUICE_BUILD_TESTS=ON >"build/$1.configure.log" 2>&1 || { cat "build/$1.configure.log"; return 1; }
}

# build PRESET TARGET...
build() {
  local preset=$1
  shift
  configure "$preset" || return 1
  cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

stage_packages() { scripts/install_packages.sh test; count $?; }
stage_build() { build release; count $?; }
stage_format() { scripts/check_format.sh; count $?; }
stage_names() { scripts/check_tidy.sh --changed; count $?; }
stage_docs() {
  scripts/write_results.py --check
  count $?
  scripts/check_docs.sh
  count $?
  scripts/check_tutorial.sh
  local status=$?
  if ((status != 77)); then count "$status"; fi
}

# program_of BUILD NAME: the test program of a library, or of a folder of tests/.
program_of() { ls "$1/sluice/sluice_$2_test" "$1"/tests/*/"sluice_$2_test" 2>/dev/null; }

# run_shard BUILD FILTER LOGS PROGRAM SHARD: one process of run_shards, writing LOGS/PROGRAM.SHARD.
run_shard() {
  # shellcheck disable=SC2086
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$5 timeout 1200 $before_program "$(program_of "$1" "$4")" \
    --gtest_filter="$2" >"$3/$4.$5" 2>&1
  echo "exit status $?" >>"$3/$4.$5"
}
export -f run_shard program_of
export shards=4 before_program=""

# run_shards BUILD FILTER PROGRAM...: runs test programs, each in a few processes, and adds their totals to
# ours. CTest starts one process a test, which takes 70 ms, and under a sanitizer half a second.
run_shards() {
  local build=$1 filter=$2 logs log count broken status=0
  shift 2
  logs=$(mktemp -d)
  for program in "$@"; do
    for ((shard = 0; shard < shards; ++shard)); do echo "$program $shard"; done
  done | xargs -P "$jobs" -L 1 bash -c 'run_shard "$0" "$1" "$2" $3 $4' "$build" "$filter" "$logs"
  for program in "$@"; do
    grep -qE '^\[  PASSED  \] [1-9]|^\[  FAILED  \]' "$logs/$program".* && continue
    echo "== $program of $build ran no test" && status=1 failed=$((failed + 1))
  done
  for log in "$logs"/*; do
    count=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}\.$/\1/p' "$log")
    passed=$((passed + ${count:-0}))  # none where the process died
    [[ $(tail -n 1 "$log") == "exit status 0" ]] && continue
    status=1
    broken=$(grep -c '^\[  FAILED  \] .* ms)$' "$log")
    failed=$((failed + (broken > 0 ? broken : 1)))  # none has failed where the process died
    echo "== $(basename "$log") of $build failed"
    grep -vE '^\[( RUN  |       OK|-------)' "$log" | tail -n 100
  done
  rm -rf "$logs"
  return $status
}

stage_tests() {
  local programs
  mapfile -t programs < <(printf '%s\n' build/release/sluice/sluice_*_test | sed 's/.*sluice_\(.*\)_test$/\1/')
  run_shards build/release '*' "${programs[@]}" cli
  local status=$?
  run_ctest build/release -LE "^($(IFS='|' && echo "${programs[*]}")|cli|numa)\$" && return $status
}

# Begins beside the stage before, whose examples leave much of the processor idle.
asan_build=""
begin_asan_build() {
  (
    renice -n 10 -p "$BASHPID" >/dev/null
    # shellcheck disable=SC2086
    build asan-ubsan $(printf 'sluice_%s_test ' $sanitized) >build/asan-ubsan.log 2>&1
  ) &
  asan_build=$!
}

stage_asan() {
  [[ -n $asan_build ]] || begin_asan_build
  wait "$asan_build" || { tail -n 60 build/asan-ubsan.log; count 1; return 1; }
  # shellcheck disable=SC2086
  run_shards build/asan-ubsan '*' $sanitized
}

stage_tsan() {
  build tsan sluice_memory_test sluice_transfer_test sluice_observe_test sluice_exec_test sluice_offload_test || { count 1; return 1; }
  # Without fixed addresses GCC 12's thread sanitizer refuses to start on kernels that randomise more bits than it knows.
  local -x before_program
  before_program="setarch $(uname -m) -R"
  $before_program true 2>/dev/null || before_program=""
  # Steps on several processors have random schedules, too.
  run_shards build/tsan "$(for suite in $tsan_suites; do printf '%s.*:*/%s.*:' "$suite" "$suite"; done)-Seeds/SameBits.UnderRandomSchedules*" \
    memory transfer observe exec offload
}

# Fetches a kernel to boot, unpacked and not installed; CTest shows what it skips as "Skipped".
stage_numa() {
  tests/numa/fetch_kernel.sh || echo "numa: no kernel was fetched"
  build release sluice_numa_test || { count 1; return 1; }
  run_ctest build/release -L '^numa$' --verbose
}

stages=("$@")
((${#stages[@]})) || stages=("${all_stages[@]}")
for stage in "${stages[@]}"; do
  if [[ " ${all_stages[*]} " != *" $stage "* ]]; then
    [[ $stage == -h || $stage == --help ]] && { sed -n '2,22s/^# \{0,1\}//p' "$0"; exit 0; }
    echo "test.sh: unknown stage '$stage'; the stages are: ${all_stages[*]}" >&2
    exit 2
  fi
done

mkdir -p build
times=()
for stage in "${stages[@]}"; do
  echo "== $stage"
  start=$SECONDS
  if [[ $stage == docs && " ${stages[*]} " == *" asan "* ]]; then begin_asan_build; fi
  if "stage_$stage"; then verdict=ok; else verdict=FAILED; fi
  times+=("$(printf '%-9s %5d s  %s' "$stage" $((SECONDS - start)) "$verdict")")
done
echo "== time"
printf '%s\n' "${times[@]}"
echo "total     $(printf '%5d' "$SECONDS") s"
echo "$passed passed, $failed failed"
((failed == 0))

#!/usr/bin/env bash
# Builds and tests, from a bare Debian 12 or 13 machine.
#
#   scripts/test.sh              the quick set: everything that can break, at sizes that take minutes; about 20 minutes on two cores
#   scripts/test.sh all          everything: the quick set, larger sizes, sanitizers, browser, virtual machine; about an hour
#   scripts/test.sh soak         what takes hours: fuzzing, random plans and autograd programs at scale; run where a capability needs it
#   scripts/test.sh fifth [N]    a fifth of what `all` has beyond the quick set: the N-th of five, or by the number of
#                                commits, so that five commits in a row have all of it
#   scripts/test.sh STAGE...     only these
#
# The quick set:
#   packages  installs the Debian packages that are missing
#   build     release build of the libraries, the command and all tests
#   tests     every suite of that build (tests/suites.txt), the Python package, examples, install, checks of the sources
#   format    layout against .clang-format
#   names     names against .clang-tidy, in the files that changed (scripts/check_tidy.sh reads all of them)
#   readme    the README's tables against the kept results, and its examples
# What `all` has beyond it, in fifths:
#   long      1: the suites again with all their cases (SLUICE_TEST_SET=all)
#   asan      2: files and JSON, memory, transfers, plan, kernels, exec, ONNX, train and experiment under the address and undefined-behaviour
#             sanitizers, those for GPUs on an emulated one
#   tsan      3: transfer lanes, an emulated GPU's streams, saved tensors and access counting under the thread sanitizer
#   browser   3: the report page in Chromium
#   numa      4: memory nodes as tiers, in a small virtual machine; skipped, with the reason, without QEMU or network
#   docs      4: the examples of all pages, and the tutorial
#   platforms 5: build and tests in a Debian 13 that is laid into a folder (scripts/test_platform.sh), its packages in a bare one;
#             skipped, with the reason, without root or network, and where this is one
#
# A stage that fails does not stop the later ones. Ends with the time of each stage and `N passed, N failed`: the sum of
# the tests that ran, and one for each other check. Exit status 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly quick=(packages build tests format names readme)
readonly rest=(long asan tsan browser numa docs platforms)
readonly fifths=("long" "asan" "tsan browser" "numa docs" "platforms")
readonly all_stages=("${quick[@]}" "${rest[@]}" soak)
readonly sanitized="base memory encoding transfer observe profile plan verify program kernels kernels_reference kernels_onednn backends exec measure probe offload data onnx onnx_import onnx_node train experiment"
readonly threaded="memory transfer observe exec offload"
# Only tests without OpenMP kernels: GCC's libgomp is not built for the thread sanitizer, so its barriers are invisible
# to it and every parallel kernel looks like a race. These are the suites with threads of our own.
readonly tsan_suites="TransferLanes ComputeLanes TransferEngines ThrottledEngine UringEngineTest TransferQueueTest TransferQueueThread RangeMoverTest Executor RandomPrograms Progress SameBits PageTracker ChunkQueue SameBitsOnGpu SavedStoreTest PagePoolTest"
jobs=$(nproc)
passed=0 failed=0

# count STATUS: one check more.
count() { if (($1 == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)); fi; return "$1"; }

# add_totals LOG STATUS: adds the last "A passed, B failed" of a log to ours; without one the run itself has failed.
add_totals() {
  local good bad
  read -r good bad <<<"$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$1" | tail -n 1)"
  if [[ -z $good ]]; then count 1; return; fi
  passed=$((passed + good))
  failed=$((failed + bad))
  return "$2"
}

# run_suites ARG...: runs test programs (scripts/run_suites.py).
run_suites() {
  local log status
  log=$(mktemp)
  scripts/run_suites.py "$@" | tee "$log"
  status=${PIPESTATUS[0]}
  add_totals "$log" "$status"
  status=$?
  rm -f "$log"
  return "$status"
}

# run_ctest BUILD ARG...: runs tests that are not in test programs.
run_ctest() {
  local build=$1 log status
  shift
  log=$(mktemp)
  ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$jobs" "$@" >"$log" 2>&1
  status=$?
  grep -vE '^ *Start +[0-9]+:|^ *$' "$log" | tail -n 200
  # CTest counts what failed, of how many
  sed -nE 's/.* ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log" | tail -n 1 |
    { read -r bad total && echo "$((total - bad)) passed, $bad failed" >>"$log"; }
  add_totals "$log" "$status"
  status=$?
  rm -f "$log"
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

programs_of() { printf 'sluice_%s_test ' "$@"; }

stage_packages() { scripts/install_packages.sh test; count $?; }
stage_build() { build release; count $?; }
stage_format() { scripts/check_format.sh; count $?; }
stage_names() { scripts/check_tidy.sh --changed; count $?; }

stage_readme() {
  scripts/write_results.py --check
  count $?
  scripts/check_docs.sh README.md
  count $?
}

stage_docs() {
  scripts/check_docs.sh
  count $?
  scripts/check_tutorial.sh
  local status=$?
  if ((status != 77)); then count "$status"; fi
}

stage_tests() {
  run_suites --build build/release
  local status=$? suites
  suites=$(scripts/run_suites.py --build build/release --list | tr '\n' '|')
  run_ctest build/release -LE "^(${suites}onnx|page|numa)\$" && return $status
}

stage_long() {
  run_suites --build build/release --set all
  SLUICE_TEST_SET=all run_ctest build/release -L '^faults$'
}

stage_browser() { run_ctest build/release -L '^page$'; }

stage_asan() {
  # shellcheck disable=SC2086
  build asan-ubsan $(programs_of $sanitized) || { count 1; return 1; }
  # shellcheck disable=SC2086
  run_suites --build build/asan-ubsan --slower 6 $sanitized
}

stage_tsan() {
  # shellcheck disable=SC2046,SC2086
  build tsan $(programs_of $threaded) || { count 1; return 1; }
  # Without fixed addresses GCC 12's thread sanitizer refuses to start on kernels that randomise more bits than it knows.
  local prefix
  prefix="setarch $(uname -m) -R"
  $prefix true 2>/dev/null || prefix=""
  # Steps on several processors have random schedules, too.
  # shellcheck disable=SC2086
  run_suites --build build/tsan --slower 6 --prefix "$prefix" \
    --filter "$(for suite in $tsan_suites; do printf '%s.*:*/%s.*:' "$suite" "$suite"; done)-Seeds/SameBits.UnderRandomSchedules*" \
    $threaded
}

# Fetches a kernel to boot, unpacked and not installed; CTest shows what it skips as "Skipped".
stage_numa() {
  tests/numa/fetch_kernel.sh || echo "numa: no kernel was fetched"
  build release sluice_numa_test || { count 1; return 1; }
  run_ctest build/release -L '^numa$' --verbose
}

stage_platforms() {
  local log status
  if grep -q '^VERSION_CODENAME=trixie' /etc/os-release; then echo "platforms: skipped: this is Debian 13"; return 0; fi
  log=$(mktemp)
  scripts/test_platform.sh trixie build tests | tee "$log"
  status=${PIPESTATUS[0]}
  ((status == 77)) && return 0
  add_totals "$log" "$status"
  rm -f "$log"
  scripts/test_platform.sh trixie packages
  count $?
}

stage_soak() {
  SLUICE_FUZZ_SECONDS=3600 run_suites --build build/release --set soak onnx_fuzz fuzz exec
  local log status
  log=$(mktemp)
  scripts/install_packages.sh soak && scripts/fuzz.sh | tee "$log"
  status=${PIPESTATUS[0]}
  add_totals "$log" "$status"
  rm -f "$log"
  SLUICE_TEST_SET=soak run_ctest build/release -L '^faults$'
  build/release/benchmarks/planners/planner_table benchmarks/planners/problems --against docs/results/planners.json
  count $?
  local script
  for script in "autograd_fuzz.py --programs 100000" "long_run.py --steps 100000"; do
    # shellcheck disable=SC2086
    PYTHONPATH=build/release/python /usr/bin/python3 -W ignore python/tests/$script
    count $?
  done
}

# words_to_stages WORD...: what the words ask for, in `stages`.
words_to_stages() {
  stages=()
  while (($#)); do
    case $1 in
      quick) stages+=("${quick[@]}") ;;
      all) stages+=("${quick[@]}" "${rest[@]}") ;;
      fifth)
        local which
        if [[ ${2:-} =~ ^[1-5]$ ]]; then which=$2; shift; else which=$(($(git rev-list --first-parent --count HEAD) % 5 + 1)); fi
        echo "test.sh: fifth $which of what all has beyond the quick set: ${fifths[which - 1]}"
        # shellcheck disable=SC2206
        stages+=(${fifths[which - 1]})
        ;;
      -h | --help) sed -n '2,34s/^# \{0,1\}//p' "$0"; exit 0 ;;
      *)
        if [[ " ${all_stages[*]} " != *" $1 "* ]]; then
          echo "test.sh: unknown word '$1'; it takes quick, all, fifth [1-5] and these stages: ${all_stages[*]}" >&2
          exit 2
        fi
        stages+=("$1")
        ;;
    esac
    shift
  done
}

if (($#)); then words_to_stages "$@"; else words_to_stages quick; fi
mkdir -p build
times=()
for stage in "${stages[@]}"; do
  echo "== $stage"
  start=$SECONDS
  if "stage_$stage"; then verdict=ok; else verdict=FAILED; fi
  times+=("$(printf '%-9s %5d s  %s' "$stage" $((SECONDS - start)) "$verdict")")
done
echo "== time"
printf '%s\n' "${times[@]}"
echo "total     $(printf '%5d' "$SECONDS") s"
echo "$passed passed, $failed failed"
((failed == 0))

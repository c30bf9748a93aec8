#!/usr/bin/env bash
# Runs clang-tidy with the rules of .clang-tidy; fails when it finds anything.
#
#   scripts/check_tidy.sh [--full] [--changed [BASE]] [--build DIR]
#
#   (default)          names only (readability-identifier-naming), every source file
#   --full             every check of .clang-tidy
#   --changed [BASE]   only source files that differ from BASE, and a source of each header that does; every file when the
#                      rules differ. BASE is, by default, where this branch left main, and on main the commit before:
#                      what test.sh runs
#   --build DIR        a configured build folder with compile_commands.json (default: build/tidy, configured here; the
#                      presets that compile several files at once do not know the flags of each)
#
# Files are read without precompiled headers, so a forgotten #include shows here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=""
checks=(--checks='-*,readability-identifier-naming')
base=""
while (($#)); do
  case $1 in
    --full) checks=() ;;
    --changed)
      base=$(git merge-base HEAD main 2>/dev/null || true)
      if [[ -z $base || $base == $(git rev-parse HEAD) ]]; then base=$(git rev-parse -q --verify HEAD~1 || git rev-parse HEAD); fi
      if [[ ${2:-} != "" && ${2:-} != --* ]]; then base=$2; shift; fi
      ;;
    --build) build=${2:?--build needs a folder}; shift ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "check_tidy: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
  shift
done

command -v clang-tidy >/dev/null || { echo "check_tidy: clang-tidy is not installed (apt: clang-tidy)" >&2; exit 2; }
if [[ -z $build ]]; then
  build=build/tidy
  # with an emulated GPU, so that the files for GPUs are read wherever this runs
  cmake --preset release -B $build -DSLUICE_BUILD_TESTS=ON -DCMAKE_UNITY_BUILD=OFF -DSLUICE_CUDA=EMULATED >/dev/null
fi
if [[ ! -f $build/compile_commands.json ]]; then
  echo "check_tidy: $build/compile_commands.json is missing; configure that folder first" >&2
  exit 2
fi

if [[ -n $base ]] && git diff --quiet "$base" -- .clang-tidy; then
  # A header is read through its own source, or through one that includes it.
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- '*.cpp' '*.hpp' | while read -r file; do
    source=${file%.hpp}
    source=${source%.cpp}.cpp
    [[ -f $source ]] || source=$(git grep -lF "\"$file\"" -- '*.cpp' | sed -n 1p || true)
    [[ -z $source ]] || echo "$source"
  done | sort -u)
else
  mapfile -t files < <(git ls-files 'sluice/**.cpp' 'tools/**.cpp' 'tests/**.cpp')
fi
# Only what this build compiles: clang-tidy needs each file's own flags.
mapfile -t files < <(for file in "${files[@]}"; do grep -qF "\"$PWD/$file\"" "$build/compile_commands.json" && echo "$file"; done)
if ((${#files[@]} == 0)); then
  echo "check_tidy: no source file to check"
  exit 0
fi

# GCC's precompiled headers are none of clang's.
mkdir -p "$build/tidy"
sed -E 's/ -fpch-preprocess//; s/ --param=ggc[^ ]*//; s/ -Winvalid-pch -include [^ ]*cmake_pch\.hxx//' "$build/compile_commands.json" \
  >"$build/tidy/compile_commands.json"
# GCC's omp.h lives in GCC's own folder, which clang does not search; and clang does not know all of GCC's warnings.
omp=$(dirname "$(g++ -print-file-name=include/omp.h)")
for_clang=(--extra-arg=-idirafter --extra-arg="$omp" --extra-arg=-Wno-unknown-warning-option)
if printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build/tidy" --quiet "${checks[@]}" "${for_clang[@]}" \
    2> >(grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated|^Suppressed|^Use -header-filter' >&2); then
  echo "check_tidy: ${#files[@]} files, no findings"
else
  echo "check_tidy: findings above" >&2
  exit 1
fi

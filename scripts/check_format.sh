#!/usr/bin/env bash
# Checks the layout of every C++ file against .clang-format; --fix rewrites the files instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v clang-format >/dev/null || { echo "check_format: clang-format is not installed (apt: clang-format)" >&2; exit 2; }
mapfile -t files < <(git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh')

case ${1:-} in
  --fix) clang-format -i "${files[@]}" ;;
  "")
    mapfile -t wrong < <(printf '%s\0' "${files[@]}" |
      xargs -0 -n 32 -P "$(nproc)" clang-format --dry-run --Werror 2>&1 | sed -nE 's/^([^: ]+):[0-9]+:[0-9]+: error: .*/\1/p' | sort -u)
    if ((${#wrong[@]})); then
      printf '%s\n' "${wrong[@]}"
      echo "check_format: ${#wrong[@]} of ${#files[@]} files differ from .clang-format; run scripts/check_format.sh --fix" >&2
      exit 1
    fi
    echo "check_format: ${#files[@]} files, all as .clang-format says"
    ;;
  *) echo "usage: scripts/check_format.sh [--fix]" >&2; exit 2 ;;
esac

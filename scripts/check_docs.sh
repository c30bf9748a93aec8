#!/usr/bin/env bash
# Runs the shell examples of README.md and docs/, so that no page shows a command that fails.
#
#   scripts/check_docs.sh [--bin DIR] [FILE...]   DIR holds the built `sluice` (default build/release/tools)
#
# An example is a line that starts with "$ " inside a block fenced ```console; a trailing backslash continues it.
# Only `sluice` commands are run; the commands of one page run in order in one folder with nothing but examples/, so
# that a later one can use what an earlier one wrote. To be quick they are made small: the sed script below. A block
# fenced ```console no-run is shown only. Fails when a command fails, or when there is nothing to run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The same commands on a small model, with few steps and a budget that fits it.
readonly make_small='
  s#(\./)?build/release/tools/sluice#sluice#g
  s/\b(resnet(18|34|50|101|152|200)(-v2|_v2)?|vgg-?(11|16|19))\b/resnet20/g
  /max-batch/! s/--fast[ =][0-9.]+(%|[KMGT]iB)/--fast 60%/g
  s/--batch[ =][0-9]+/--batch 32/g
  s/--steps[ =][0-9]+/--steps 3/g
  s/--image(-size)?[ =][0-9]+/--image\1 32/g
  s/\bsluice compare\b/& --starts 1/g
'

# examples FILE: the page's commands, one per line.
examples() {
  awk '
    /^```console$/ { inside = 1; next }
    /^```/ { inside = 0; pending = "" }
    inside && pending != "" { line = $0; sub(/^(> )?[ ]*/, "", line); pending = pending line; if (!continues()) flush() ; next }
    inside && /^\$ / { pending = substr($0, 3); if (!continues()) flush() }
    function continues() { if (pending ~ /\\$/) { sub(/\\$/, "", pending); return 1 } return 0 }
    function flush() { print pending; pending = "" }
  ' "$1"
}

bin=$root/build/release/tools
if [[ ${1:-} == --bin ]]; then
  bin=$(cd "${2:?--bin needs a folder}" && pwd)
  shift 2
fi
if [[ ! -x $bin/sluice ]]; then
  echo "check_docs: $bin/sluice is missing; build it first: cmake --build --preset release" >&2
  exit 2
fi
export PATH=$bin:$PATH
pages=("$@")
((${#pages[@]})) || mapfile -t pages < <(cd "$root" && find README.md docs -name '*.md' | sort)

ran=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for page in "${pages[@]}"; do
  folder=$(mktemp -d)
  ln -s "$root/examples" "$folder/examples"
  while IFS= read -r command; do
    command=$(sed -E "$make_small" <<<"$command")
    [[ $command == sluice* ]] || continue
    ran=$((ran + 1))
    if ! (cd "$folder" && timeout 300 bash -c "$command" >"$log" 2>&1 </dev/null); then
      failed=$((failed + 1))
      echo "$page: failed: $command"
      sed 's/^/    /' "$log" | tail -n 20
    fi
  done < <(examples "$root/$page")
  rm -rf "$folder"
done
echo "check_docs: $ran commands from ${#pages[@]} pages, $failed failed"
((ran > 0 && failed == 0))

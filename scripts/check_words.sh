#!/usr/bin/env bash
# Holds that the memory core knows nothing of neural networks: no name or comment in sluice/memory has a word of them.
# What stands on it (training, and whatever else keeps more data than fast memory holds) has its own words.
#
#   scripts/check_words.sh              checks sluice/memory; tests beside the code may draw on networks
#   scripts/check_words.sh --self-test  shows that each form of a word is found, and that no other word is
#
# Also holds that the memory core's rooms may include base and one another alone (cmake/rooms.txt), and that nobody outside
# asks which kind a tier is: what it can do is asked (memory/tier_kind.hpp).
# Bash, grep and sed only. Prints FILE:LINE; exit 1 if any.
set -euo pipefail

readonly words='tensors?|layers?|ops?|steps?|train|trains|trained|training|gradients?|batch|batches|epochs?|activations?|optimi[sz]ers?|neural'

# Reads text; prints NUMBER:LINE where a word stands alone or is a part of a name (kTensorBytes, first_layer).
find_words() {
  # What the kernel calls a record of the processor: ibs_op, mem_op.
  sed -E 's/(ibs|mem|MEM)_(op|OP)//g; s/([a-z0-9])([A-Z])/\1 \2/g; s/_/ /g' | grep -niE "\b($words)\b" || true
}

check_words() {
  local file line bad=0
  while read -r file; do
    while IFS=: read -r line _; do
      [[ -n $line ]] || continue
      echo "$file:$line: $(sed -n "${line}p" "$file" | sed 's/^ *//')"
      bad=$((bad + 1))
    done < <(find_words <"$file")
  done < <(find "$1" \( -name '*.hpp' -o -name '*.cpp' \) ! -name '*_test.cpp' | sort)
  echo "check_words: $bad words of neural networks in the memory core"
  ((bad == 0))
}

check_kinds() {
  local found
  found=$(cd "$1" && grep -rnE 'kind *[!=]= *TierKind::|TierKind::[a-zA-Z]+ *[!=]=' --include='*.cpp' --include='*.hpp' sluice tools |
    grep -vE '^sluice/(memory|testing)/|_test\.cpp:|_for_tests\.hpp:') || true
  [[ -z $found ]] && return
  echo "$found"
  echo "check_words: kinds of tiers are compared; ask what the tier can do" >&2
  return 1
}

check_rooms() {
  local found
  found=$(grep -E '^memory' "$1/cmake/rooms.txt" | awk -F'|' '{
    n = split($3, rooms, " ")
    for (i = 1; i <= n; i++) if (rooms[i] !~ /^(-|base|memory)(\/|$)/) print $1 "may include " rooms[i]
  }')
  [[ -z $found ]] && return
  echo "$found"
  echo "check_words: the memory core stands on base alone" >&2
  return 1
}

self_test() {
  local text wrong=0
  for text in 'a tensor of bytes' 'Bytes kTensorBytes' 'int first_layer' 'ops run' 'the op: done' 'TrainingProfile' 'one step' 'move_batch'; do
    [[ -n $(find_words <<<"$text") ]] || { echo "self-test: not found: $text"; wrong=1; }
  done
  for text in 'options' 'stepping over' 'operands' 'copy' 'stop' 'constrained' 'develops' 'layered'; do
    [[ -z $(find_words <<<"$text") ]] || { echo "self-test: found wrongly: $text"; wrong=1; }
  done
  local root
  root=$(mktemp -d)
  mkdir -p "$root/cmake" "$root/sluice/exec" "$root/tools"
  echo 'memory/transfer | transfer | memory graph | what | `a.hpp`' >"$root/cmake/rooms.txt"
  check_rooms "$root" >/dev/null 2>&1 && { echo "self-test: a room of the core that includes graph passed"; wrong=1; }
  echo 'if (tier.kind == TierKind::kFile) return;' >"$root/sluice/exec/a.cpp"
  check_kinds "$root" >/dev/null 2>&1 && { echo "self-test: a comparison of kinds passed"; wrong=1; }
  rm -r "$root"
  echo "check_words: self-test, $wrong wrong"
  ((wrong == 0))
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
  --self-test) self_test ;;
  "") check_words sluice/memory && check_rooms . && check_kinds . ;;
  *) echo "usage: scripts/check_words.sh [--self-test]" >&2; exit 2 ;;
esac

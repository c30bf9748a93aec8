#!/usr/bin/env bash
# Rejects #include edges that the architecture does not allow (docs/architecture.md, "Who may include whom"), and circles
# of rooms.
#
#   scripts/check_includes.sh              checks sluice/, tools/, the public headers and the table of this repository
#   scripts/check_includes.sh --self-test  shows that each rule fires on a file that breaks it and on no other
#
# Bash and coreutils only, so that it runs anywhere. Prints FILE:LINE and the rule for each bad edge; exit 1 if any.
set -euo pipefail

# Which rooms' headers the sources of a room may include, besides base and its own: the table that the build uses, too.
declare -A allowed=() library=() rooms_of=()
while IFS='|' read -r room lib includes _; do
  room=${room// /} lib=${lib// /}
  allowed[$room]=${includes//-/} library[$room]=$lib rooms_of[$lib]+=" $room"
done < <(grep '^[a-z]' "$(dirname "${BASH_SOURCE[0]}")/../cmake/rooms.txt")
# The command may include all of them. Tests may include the rooms that are built into their own room's library, and a
# few more: the doubles and generators, and what these are made of.
allowed[tools]="${!allowed[*]}" library[tools]=tools rooms_of[tools]=""
readonly for_tests="testing testing/op_cases testing/random kernels/backends models graph/builder graph/autodiff graph/rewrite plan/verify program"

# Outside headers that only some places may include: "PATTERN WHERE", both extended regular expressions.
readonly vendors=(
  '^(dnnl|oneapi/)        ^sluice/kernels/onednn/'
  '^(cuda|cudnn|cublas|curand|nccl)   ^sluice/(kernels/cuda|gpu)/|^sluice/(exec|measure|probe)/gpu_[a-z_]+\.(cpp|hpp|cu)$'
  '^(liburing\.h|liburing/) ^sluice/memory/transfer/'
  '^mpi\.h$               ^sluice/exec/ranks/'
  '^(numa|numaif)\.h       ^sluice/memory/[^/]*$'
  '^omp\.h                ^sluice/(kernels|exec|measure|probe|train)/|_test\.cpp$'
  '^CLI/                  ^tools/'
  '^xxhash\.h             ^sluice/base/'
  '^(onnx|google)/         ^sluice/onnx/'
  '^coin/                 ^sluice/planners/ilp/'
  '^(gtest|gmock)/        (_test\.cpp$|^sluice/testing/|^tests/)'
)

# check_edge FILE HEADER: sets `broken` to the rule that the edge breaks, or to "". (No subshell: there are many.)
check_edge() {
  local file=$1 header=$2 folder target vendor
  broken=""
  [[ $file != sluice/sluice.hpp ]] || return 0  # the umbrella: check_public
  for vendor in "${vendors[@]}"; do
    if [[ $header =~ ${vendor%% *} && ! $file =~ ${vendor##* } ]]; then
      broken="<$header> may be included only in ${vendor##* }"
      return
    fi
  done
  [[ $header == sluice/*/* ]] || return 0
  folder=${file#sluice/}
  folder=${folder%/*}
  [[ $folder == tools/* ]] && folder=tools  # one room for this check
  target=${header#sluice/}
  target=${target%/*}
  if [[ -z ${allowed[$folder]+known} ]]; then
    broken="folder '$folder' is not in the table cmake/rooms.txt"
    return
  fi
  local may="base $folder ${allowed[$folder]}"
  [[ $file == *_test.cpp || $file == *_for_tests.hpp ]] && may+=" $for_tests ${rooms_of[${library[$folder]}]}"
  if [[ " $may " != *" $target "* ]]; then
    broken="$folder may not include $target (it may include: base ${allowed[$folder]})"
  fi
}

# check_tree ROOT: checks every source file under ROOT/sluice and ROOT/tools; prints bad edges.
check_tree() {
  local file line directive broken bad=0 edges=0
  while IFS=: read -r file line directive; do
    [[ $directive =~ [\<\"]([^\>\"]+) ]]
    edges=$((edges + 1))
    check_edge "$file" "${BASH_REMATCH[1]}"
    if [[ -n $broken ]]; then
      echo "$file:$line: $broken"
      bad=$((bad + 1))
    fi
  done < <(cd "$1" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](sluice/|[A-Za-z0-9_]+/|[A-Za-z0-9_]+\.h)' \
    --include='*.cpp' --include='*.hpp' --include='*.cu' --include='*.cuh' sluice tools 2>/dev/null)
  echo "check_includes: $edges edges, $bad not allowed"
  ((bad == 0))
}

# check_circles: no room may include, through others or at once, one that includes it. Takes away rooms that include only
# rooms taken away before, until none can go; of what is left prints one circle.
check_circles() {
  local -A left=()
  local -a path=()
  local room target taken
  for room in "${!allowed[@]}"; do left[$room]=yes; done
  for ((taken = 1; taken;)); do
    taken=0
    for room in "${!left[@]}"; do
      if [[ -z $(first_of_left "$room") ]]; then unset "left[$room]"; taken=1; fi
    done
  done
  if ((${#left[@]} == 0)); then echo "check_includes: no circle of rooms"; return 0; fi
  mapfile -t path < <(printf '%s\n' "${!left[@]}" | sort | head -n 1)
  while target=$(first_of_left "${path[-1]}") && [[ " ${path[*]} " != *" $target "* ]]; do path+=("$target"); done
  while [[ ${path[0]} != "$target" ]]; do path=("${path[@]:1}"); done
  echo "cmake/rooms.txt: a circle of rooms: $(printf '%s -> ' "${path[@]}")$target; what they share is a lower room"
  return 1
}

# first_of_left ROOM: the first room of those in `left` that ROOM may include, but for itself.
first_of_left() {
  local other
  for other in ${allowed[$1]}; do
    if [[ $other != "$1" && -n ${left[$other]:-} ]]; then echo "$other"; return; fi
  done
}

# check_namespaces ROOT: a file of sluice/plan opens namespace sluice::plan, or one within it; base is sluice itself. What
# tests share may lie in sluice::testing, and a file that opens its own may declare names of another beside it.
check_namespaces() {
  local file space own wrong=0
  while IFS=: read -r file space; do
    own=${file#sluice/} own=sluice::${own%%/*}
    [[ $own != sluice::base ]] || own=sluice
    case $space in
      "$own" | "$own"::*) ;;
      sluice::testing) [[ $file == *_for_tests.hpp || $file == *_test.cpp ]] || { echo "$file is in namespace $space"; wrong=1; } ;;
      *) grep -qE "^namespace $own\b" "$1/$file" || { echo "$file: namespace $space should be $own"; wrong=1; } ;;
    esac
  done < <(cd "$1" && grep -roE '^namespace sluice[a-z:_]*' --include='*.cpp' --include='*.hpp' --include='*.cu' --include='*.cuh' \
    sluice | sed 's/:namespace /:/')
  echo "check_includes: namespaces are folders"
  ((wrong == 0))
}

# check_public ROOT: what a library user gets. Headers behind the umbrella bring no vendor's header along, and the
# examples include nothing else. Prints what is wrong.
check_public() {
  local header target file wrong=0
  local -A public=()
  local waiting=(sluice/sluice.hpp)
  while ((${#waiting[@]})); do
    header=${waiting[0]} waiting=("${waiting[@]:1}")
    [[ -z ${public[$header]:-} ]] || continue
    public[$header]=yes
    if grep -HnE '^#include <(dnnl|oneapi/|liburing|omp\.h|numa|coin/|onnx|google/|cuda|CLI/)' "$1/$header"; then wrong=1; fi
    while read -r target; do waiting+=("$target"); done < <(grep -oE '^#include "sluice/[^"]+' "$1/$header" | sed 's/.*"//')
  done
  while IFS=: read -r file target; do
    [[ -n ${public[$target]:-} ]] || { echo "$file includes $target, which is private (not behind sluice/sluice.hpp)"; wrong=1; }
  done < <(cd "$1" && grep -rHoE '^#include ["<]sluice/[^">]+' --include='*.cpp' examples tests/install | sed -E 's/#include ["<]//')
  echo "check_includes: ${#public[@]} public headers"
  ((wrong == 0))
}

# One line per case: FILE, what it includes, and whether that must be rejected.
self_test() {
  local cases=(
    'sluice/graph/a.hpp                   sluice/base/units.hpp         ok'
    'sluice/graph/a.hpp                   sluice/graph/b.hpp            ok'
    'sluice/base/a.hpp                    sluice/graph/graph.hpp        bad'
    'sluice/memory/a.cpp                  sluice/graph/graph.hpp        bad'
    'sluice/models/a.cpp                  sluice/plan/plan.hpp          bad'
    'sluice/exec/a.cpp                    sluice/planners/planner.hpp   bad'
    'sluice/sim/a.cpp                     sluice/planners/planner.hpp   bad'
    'sluice/sim/a.cpp                     sluice/exec/executor.hpp      bad'
    'sluice/planners/a.cpp                sluice/sim/simulator.hpp      ok'
    'sluice/planners/a.cpp                sluice/exec/executor.hpp      bad'
    'sluice/train/a.cpp                   sluice/exec/executor.hpp      ok'
    'sluice/plan/a.cpp                    sluice/testing/random.hpp     bad'
    'sluice/plan/a_test.cpp               sluice/testing/random.hpp     ok'
    'sluice/plan/a_test.cpp               sluice/planners/planner.hpp   bad'
    'sluice/novel/a.cpp                   sluice/base/units.hpp         bad'
    'sluice/kernels/onednn/a.cpp           dnnl.hpp                      ok'
    'sluice/exec/a.cpp                    dnnl.hpp                      bad'
    'sluice/memory/transfer/a.cpp          liburing.h                    ok'
    'sluice/memory/a.cpp                  liburing.h                    bad'
    'sluice/memory/a.cpp                  numa.h                        ok'
    'sluice/memory/a.cpp                  numaif.h                      ok'
    'sluice/memory/transfer/a.cpp          numaif.h                      bad'
    'sluice/kernels/reference/a.cpp        omp.h                         ok'
    'sluice/plan/a.cpp                    omp.h                         bad'
    'sluice/train/a.cpp                   CLI/CLI.hpp                   bad'
    'tools/a.cpp                          CLI/CLI.hpp                   ok'
    'sluice/planners/redl/a.cpp           sluice/planners/sentinel/gaps.hpp bad'
    'sluice/planners/redl/a.cpp           sluice/planners/registry/registry.hpp bad'
    'sluice/planners/redl/a_test.cpp      sluice/planners/registry/registry.hpp ok'
    'sluice/graph/a.cpp                   sluice/graph/builder/builder.hpp bad'
    'sluice/memory/a.cpp                  cuda_runtime.h                bad'
    'sluice/exec/a.cpp                    cublas_v2.h                   bad'
    'sluice/kernels/cuda/a.cu              cuda_runtime.h                ok'
    'sluice/planners/a.cpp                coin/CbcModel.hpp             bad'
    'sluice/planners/ilp/a.cpp            coin/CbcModel.hpp             ok'
    'sluice/plan/a.cpp                    gtest/gtest.h                 bad'
    'sluice/plan/a_test.cpp               gtest/gtest.h                 ok'
  )
  local root file header verdict found wrong=0
  for line in "${cases[@]}"; do
    read -r file header verdict <<<"$line"
    root=$(mktemp -d)
    mkdir -p "$root/$(dirname "$file")"
    echo "#include \"$header\"" >"$root/$file"
    if check_tree "$root" >/dev/null; then found=ok; else found=bad; fi
    rm -r "$root"
    if [[ $found != "$verdict" ]]; then
      echo "self-test: $file including $header should be $verdict, was $found"
      wrong=$((wrong + 1))
    fi
  done
  self_test_circles || wrong=$((wrong + 1))
  self_test_namespaces || wrong=$((wrong + 1))
  echo "check_includes: self-test of ${#cases[@]} cases, $wrong wrong"
  ((wrong == 0))
}

# Tables of rooms, as "ROOM:INCLUDED,INCLUDED ..." and what check_circles says of each.
self_test_circles() {
  local cases=(
    'a:b,c b:c c:                 no circle of rooms'
    'a:b b:a c:a                  a circle of rooms: a -> b -> a;'
    'a:b b:c,d c: d:b             a circle of rooms: b -> d -> b;'
    'z:a a:b,e b:c c:a e:         a circle of rooms: a -> b -> c -> a;'
  )
  local line expected entry found
  local -A allowed
  for line in "${cases[@]}"; do
    allowed=() expected=$(sed -E 's/^.*[a-z]*:[a-z,]* {2,}//' <<<"$line")
    for entry in ${line%"$expected"}; do allowed[${entry%%:*}]=$(tr ',' ' ' <<<"${entry#*:}"); done
    found=$(check_circles) || true
    if [[ $found != *"$expected"* ]]; then echo "self-test: '$found' where '$expected' is true"; return 1; fi
  done
}

# One line per case: FILE, the namespace it opens, and whether that must be rejected.
self_test_namespaces() {
  local cases=(
    'sluice/base/a.hpp               sluice               ok'
    'sluice/plan/a.hpp               sluice::plan         ok'
    'sluice/plan/verify/a.cpp        sluice::plan::verify ok'
    'sluice/plan/a.hpp               sluice               bad'
    'sluice/plan/a.hpp               sluice::planners     bad'
    'sluice/plan/a.hpp               sluice::plan_b       bad'
    'sluice/plan/a_for_tests.hpp     sluice::testing      ok'
    'sluice/plan/a.hpp               sluice::testing      bad'
  )
  local line root file space verdict found
  for line in "${cases[@]}"; do
    read -r file space verdict <<<"$line"
    root=$(mktemp -d)
    mkdir -p "$root/$(dirname "$file")"
    echo "namespace $space {" >"$root/$file"
    if check_namespaces "$root" >/dev/null; then found=ok; else found=bad; fi
    rm -r "$root"
    if [[ $found != "$verdict" ]]; then echo "self-test: $file in $space should be $verdict, was $found"; return 1; fi
  done
}

case ${1:-} in
  --self-test) self_test ;;
  "")
    root=$(dirname "${BASH_SOURCE[0]}")/..
    check_tree "$root" && check_public "$root" && check_circles && check_namespaces "$root"
    ;;
  *) echo "usage: scripts/check_includes.sh [--self-test]" >&2; exit 2 ;;
esac

#!/usr/bin/env bash
# From a bare Debian 12 or 13 machine to the point of it all: trains ResNet-50 with a fifth of the memory it wants, the rest
# in a file, and shows that the result is the same to the last bit.
#
#   scripts/demo.sh [--small] [--batch N] [--model NAME] [--fast SIZE] [--steps N] [--spill DIR]
#
#   --small       ResNet-20 on 32x32 images, batch 128: ten seconds instead of minutes
#   --batch N     images a step (default 16; ResNet-50 then wants about 1.7 GiB of fast memory)
#   --model NAME  any of `sluice models` (default resnet50)
#   --fast SIZE   the budget: a share such as 20%, or a size such as 512MiB (default 20%)
#   --steps N     measured steps of each planner, after two to warm up (default 5)
#   --spill DIR   folder of the slow tier's file (default build; it should be on a fast disk)
#
# Exit status 0 only when every planner ended with the same parameters.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

model=resnet50 batch=16 fast=20% steps=5 spill=$PWD/build
while (($#)); do
  case $1 in
    --small) model=resnet20 batch=128 ;;
    --batch) batch=${2:?--batch needs a number}; shift ;;
    --model) model=${2:?--model needs a name}; shift ;;
    --fast) fast=${2:?--fast needs a size}; shift ;;
    --steps) steps=${2:?--steps needs a number}; shift ;;
    --spill) spill=${2:?--spill needs a folder}; shift ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "demo.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
  shift
done

scripts/build.sh

echo "Training $model, batch $batch: all in fast memory, paging on demand, Sentinel's plan and ours; $steps steps each"
result=build/demo.json
build/release/tools/sluice compare "$model" --batch "$batch" --fast "$fast" --spill-dir "$spill" \
  --planners fast-only,on-demand,sentinel,joint --steps $((steps + 2)) --starts 1 --json "$result"

hashes=$(grep -o '"parameter_hash": *"[^"]*"' "$result" | sort | uniq -c)
read -r runs _ hash <<<"${hashes//\"/}"
echo
if (($(wc -l <<<"$hashes") == 1 && runs == 4)); then
  echo "Same bits: after training, the parameters of all four runs are identical (hash $hash)."
else
  echo "DIFFERENT BITS: the planners did not end with the same parameters:" >&2
  echo "$hashes" >&2
  exit 1
fi

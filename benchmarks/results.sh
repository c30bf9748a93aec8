#!/usr/bin/env bash
# Measures what docs/results shows: each experiment is one command, its table and its JSON are kept side by side.
#
#   benchmarks/results.sh              all experiments (one to three minutes each on two idle cores)
#   benchmarks/results.sh NAME...      only these; --list names them
#
# Needs the release build. Run it on an otherwise idle machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sluice=build/release/tools/sluice
out=docs/results
spill=${SLUICE_SPILL:-$PWD/build}

# What joint is held against sentinel with: at a fifth of the memory (joint_MODEL), at two fifths, at the least that each
# can use, and over links of 1 GB/s.
joint_models=(resnet50_b16 vgg16_b8 inception_v3_b8 inception_v4_b8 densenet121_b16 mobilenet_v1_b32 mobilenet_v2_b32
  squeezenet1_1_b32 googlenet_b16 lstm_b20 bert_base_b8 bert_large_b2 gpt2_small_b4 dcgan_b128 densenet264_b8 vgg416_b4
  resnet200_b4)

# AutoTM's figure 7 on emulated Optane, by how much of it there is for each part of fast memory.
autotm_runs=()
for autotm_model in inception_v4_b8 resnet200_b4 vgg19_b8 densenet264_b4; do
  autotm_runs+=("autotm_${autotm_model}_8to1" "autotm_${autotm_model}_4to1" "autotm_${autotm_model}_1to1")
done
autotm_runs+=(autotm_pcie3_resnet50_b16 autotm_pcie3_vgg16_b8)

# HOME's six models (its section 4) with a convolution's input as large as on CIFAR-10: the part of the memory that its
# largest batch leaves (table 2: PyTorch's over HOME's), and how often PCIe 3.0 x16 (12 GB/s) carries all that memory
# (11 GiB) in a step of PyTorch's largest batch (table 2). The link here is slowed until it carries it as often. Without
# momentum where parameters would take more of our small batches' memory than they do of the paper's.
declare -A home_rows=(
  [mobilenet]="mobilenet_v1 48% 1.20 --image-size 64 --classes 10 --batch 128"
  [plain20]="plain20 36% 0.45 --batch 256"
  [squeezenet]="squeezenet1_1 38% 0.27 --image-size 128 --classes 10 --batch 64"
  [vgg16]="vgg16 54% 1.01 --image-size 32 --classes 10 --batch 512 --momentum 0"
  [resnet50]="resnet50 49% 0.56 --image-size 128 --classes 10 --batch 16"
  [inception_v3]="inception_v3 35% 0.49 --classes 10 --batch 24 --momentum 0")
home_planners=vdnn,vdnn:all=1,superneurons,capuchin,home,joint

names=(resnet50_b16 resnet50_b32 resnet50_b16_1GBs resnet50_b32_1GBs resnet32_b128 resnet32_b128_1GBs vgg16_b32
  resnet32_b128_1thread resnet50_budgets resnet32_pcie3 resnet20_learns
  resnet200_plan pytorch pytorch_b32 gradients onnx
  inception_v3_b8 inception_v4_b8 densenet121_b16 densenet264_b8 mobilenet_v1_b32 mobilenet_v2_b32 squeezenet1_1_b32
  googlenet_b16 vgg16_b8 vgg416_b4 lstm_b20 bert_base_b8 bert_large_b2 gpt2_small_b4 dcgan_b128
  resnet32_characterize accesses_resnet32 accesses_resnet50 resnet200_profile lengths_lstm lengths_bert
  optane_sentinel sentinel_ablation pmbd_redl kernel_swap busy_machine deferred_updates chen_sqrt encoding plan_packing several_tiers kernel_choice
  "${joint_models[@]/#/joint_}" "${joint_models[@]/#/joint40_}" "${joint_models[@]/#/joint_least_}"
  "${joint_models[@]/#/joint_1GBs_}" "${joint_models[@]/#/joint_slow_host_}" joint_optane joint_onnx_efficientnet_b0 joint_onnx_googlenet
  planners planners_autotm_optane planners_autotm_pcie planners_sentinel_gpu smallest_budgets finer_resnet50_b16 replanning pytorch_joint "${autotm_runs[@]}"
  host_step host_step_pytorch zero_offload_gpt2 zero_offload_delayed zero_offload_states_on_file paper_ratios scaling_curve largest_models largest_models_executed largest_batches home_search home_mobilenet home_plain20 home_squeezenet home_vgg16 home_resnet50 home_inception_v3)

# What planners know beside op times: main-memory accesses counted, and op times by placement where ops can use the slow
# tier in place (these stay in the profile cache).
count_accesses() {  # FILE MODEL BATCH ARG...: those of compare
  local file=$1 model=$2 batch=$3 arguments=()
  shift 3
  while (($#)); do
    case $1 in
      --lr | --steps) shift ;;
      --smallest-feasible) ;;
      optane | pmbd) arguments+=("$1" --placements) ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  ahead="$sluice profile $model --batch $batch ${arguments[*]} --accesses --save $file"
  "$sluice" profile "$model" --batch "$batch" "${arguments[@]}" --accesses --save "$file" >/dev/null
}

compare() {  # NAME MODEL BATCH PLANNERS ARG...: as many rounds as compare takes by itself
  local name=$1 model=$2 batch=$3 planners=$4 counts=$spill/$1.profile.json ahead
  shift 4
  count_accesses "$counts" "$model" "$batch" "$@"
  keep "$name" "$sluice" compare "$model" --batch "$batch" --fast 20% --planners "$planners" --accesses "$counts" \
    --spill-dir "$spill" --json "$out/$name.json" "$@"
}

at_feasible() {  # NAME MODEL BATCH ARG...: a fifth of the memory, or the least that works where that is more
  compare "$1" "$2" "$3" fast-only,sentinel --smallest-feasible "${@:4}"
}

# A planner as published, with each of our additions in turn, and whole.
sentinel_chain=sentinel:additions=none,sentinel:additions=choice,sentinel:additions=choice+staying,sentinel:additions=choice+staying+in-place,sentinel
# Its figure 13.
sentinel_ablation=sentinel:additions=none:migration=direct,sentinel:additions=none:migration=intervals,sentinel:additions=none
redl_chain=redl:additions=none,redl:additions=search,redl:additions=stretches+search,redl

optane() {  # MODEL BATCH PLANNERS ARG...: beside the rivals of Sentinel's figures 7 and 8
  compare "optane_sentinel_$1_b$2${part:-}" "$1" "$2" "$3" --slow optane --smallest-feasible "${@:4}"
}

# Beside the rivals of ReDL's figure 8. OIM twice: with a pass every 5 s, as published, and with passes within a step.
pmbd() {  # MODEL BATCH ARG...
  compare "pmbd_redl_$1_b$2" "$1" "$2" $redl_chain,sentinel,first-touch,oim,oim:period=0.05,slow-only --slow pmbd \
    --smallest-feasible "${@:3}"
}

deferred() {  # MODEL BATCH ARG...
  keep "deferred_updates_$1_b$2" "$sluice" compare "$1" --batch "$2" --planners sentinel,deferred-updates \
    --smallest-feasible --fast 20% --starts 3 --spill-dir "$spill" --json "$out/deferred_updates_$1_b$2.json" "${@:3}"
}

encoding() {  # MODEL BATCH ARG...: sentinel without and with it, over a link that is short
  keep "encoding_$1_b$2" "$sluice" compare "$1" --batch "$2" --fast 20% --link-bandwidth 0.5GB/s \
    --planners sentinel,sentinel:additions=choice+staying+in-place+ahead+lending+encode --spill-dir "$spill" \
    --json "$out/encoding_$1_b$2.json" "${@:3}"
}

joint() {  # NAME ARG...
  keep "$1" "$sluice" compare "${@:2}" --planners sentinel,joint --smallest-feasible --spill-dir "$spill" --json "$out/$1.json"
}

joint_model() {  # NAME MODEL_bBATCH ARG...
  local more=()
  case $2 in
    vgg416*) more=(--image-size 64) ;;
    vgg*) more=(--lr 0.001) ;;
    gpt2_small*) more=(--sequence 256) ;;
  esac
  joint "$1" "${2%_b*}" --batch "${2##*_b}" "${more[@]}" "${@:3}"
}

autotm() {  # NAME MODEL_bBATCH SHARE STARTS: beside what the system or the hardware does; op times measured by placement before
  local model=${2%_b*} batch=${2##*_b} more=()
  [[ $model != vgg* ]] || more=(--lr 0.001)
  "$sluice" profile "$model" --batch "$batch" --slow optane --placements >/dev/null 2>&1
  keep "$1" "$sluice" compare "$model" --batch "$batch" --slow optane --fast "$3" --starts "$4" --steps 5 "${more[@]}" \
    --planners first-touch,memory-mode,autotm-static,autotm-sync,joint --spill-dir "$spill" --json "$out/$1.json"
}

joint_onnx() {  # NAME MODEL ARG...: as PyTorch writes it
  [[ -e $spill/onnx/$2.onnx ]] || { mkdir -p "$spill/onnx" && benchmarks/rivals/export_onnx.py "$spill/onnx" "$2"; }
  joint "$1" --onnx "$spill/onnx/$2.onnx" "${@:3}"
}

# Beside what a GPU's driver does by itself; ops need all of their operands in fast memory.
autotm_pcie() {  # NAME MODEL_bBATCH
  local model=${2%_b*} batch=${2##*_b} more=()
  [[ $model != vgg* ]] || more=(--lr 0.001)
  keep "$1" "$sluice" compare "$model" --batch "$batch" --slow pcie3 --fast 20% --starts 1 --steps 6 "${more[@]}" \
    --planners um,on-demand,autotm-sync,autotm-async,joint --spill-dir "$spill" --json "$out/$1.json"
}

planner_rows() {  # NAME MACHINES PLANNERS [BUDGETS [PROBLEMS]]: a fifth of the memory, kept problems, simulated
  keep "$1" build/release/benchmarks/planners/planner_table benchmarks/planners/problems --planners "$3" --machines "$2" \
    --budgets "${4:-20}" ${5:+--problems "$5"} --json "$out/$1.json"
}

model_in() {  # autotm_MODEL_bBATCH_RATIO
  local name=${1#autotm_}
  echo "${name%_*}"
}

home_setting() {  # MODEL: sets what sluice is told, with a link that carries what everything takes so often a step
  local model fast times arguments link all=$spill/home_$1.all
  read -r model fast times arguments <<<"${home_rows[$1]}"
  # shellcheck disable=SC2086
  "$sluice" simulate "$model" $arguments --keep-norm-outputs --slow pcie3 --planner fast-only --json "$all" >/dev/null
  link=$(python3 -c 'import json, sys; all = json.load(open(sys.argv[1]))
print("%.3fGB/s" % (float(sys.argv[2]) * all["fast_only_bytes"] / all["predicted_ms"] / 1e6))' "$all" "$times")
  rm "$all"
  # shellcheck disable=SC2206
  setting=("$model" $arguments --keep-norm-outputs --slow pcie3 --link-bandwidth "$link" --fast "$fast")
  home_note="the link, emulated, carries $times times what everything takes in a step, as the paper's GPU's"
}

home_figure() {  # NAME MODEL
  local setting home_note
  home_setting "$2"
  note=$home_note keep "$1" "$sluice" compare "${setting[@]}" --planners $home_planners --starts 2 --json "$out/$1.json"
}

home_search() {  # MODEL: all iterations, and a picture of how they converge (figure 8)
  local setting home_note name=home_search_$1
  home_setting "$1"
  note=$home_note keep "$name" "$sluice" plan "${setting[@]}" --planner home:patience=0 --json "$out/$name.json" \
    --svg-convergence "$out/$name.svg"
}

beside_a_busy_disk() {  # NAME ARG...: another program writes to the disk from half a minute on
  (
    trap 'kill $!; rm -f "$spill/load"; exit' TERM
    sleep 30 & wait
    while true; do
      dd if=/dev/zero of="$spill/load" bs=8M count=256 oflag=direct status=none & wait
    done
  ) &
  local load=$!
  trap "kill $load" EXIT
  note="beside it, from half a minute on: dd writes 2 GiB again and again" keep "$1" "$sluice" train resnet50 --batch 16 \
    --fast 20% --steps 70 --no-validation --spill-dir "$spill" --json "$out/$1.json" "${@:2}"
  kill "$load"
  trap - EXIT
  wait "$load" || true
}

keep() {  # NAME COMMAND...: the command (and what went `ahead`), the commit and what it printed, after the `note`
  local name=$1
  shift
  {
    [[ -z ${ahead:-} ]] || echo "\$ ${ahead//$spill/SPILL}"
    echo "\$ ${*//$spill/SPILL}"
    echo "commit $(git rev-parse --short HEAD)"
    [[ -z ${note:-} ]] || echo "$note"
    "$@" 2>"$spill/$name.stderr" | sed "s#$spill#SPILL#g"
  } | tee "$out/$name.txt" || { tail -n 5 "$spill/$name.stderr" >&2; return 1; }
  rm -f "$spill/$name.stderr"
}

profile_twice() {  # NAME MODEL ARG...: the second time from the cache
  local name=$1
  shift
  keep "$name" bash -c 'for turn in first second; do
      echo "$turn time"
      TIMEFORMAT="%R s in all"; time "$@" --top 3 2>/dev/null
    done 2>&1' "$sluice" "$sluice" profile "$@"
}

lengths() {  # NAME MODEL BATCH LENGTHS: every step another length, in all of the memory it takes and in two fifths
  local planner
  for planner in fast-only sentinel; do
    keep "$1_${planner/-/_}" "$sluice" train "$2" --batch "$3" --sequences "$4" --steps 30 --planner $planner --fast 40% \
      --spill-dir "$spill" --json "$out/$1_${planner/-/_}.json"
  done
}

pack_plans() {  # NAME MODEL:BATCH...: plans of every planner, packed again into the least there can be
  local name=$1 folder each planner slow plans=()
  folder=$(mktemp -d "$spill/plans.XXXXXX")
  shift
  for each in "$@"; do
    for planner in fast-only chen-sqrt first-touch on-demand redl sentinel deferred-updates joint; do
      slow=file
      [[ $planner != redl && $planner != first-touch ]] || slow=pmbd
      "$sluice" plan "${each%:*}" --batch "${each#*:}" --fast 20% --smallest-feasible --threads 1 --planner $planner \
        --slow $slow --spill-dir "$spill" -o "$folder/${each%:*}.$planner.json" >/dev/null 2>&1 || continue
      plans+=("$folder/${each%:*}.$planner.json" "${each%:*}" "${each#*:}")
    done
  done
  keep "$name" build/release/benchmarks/packing/plan_packing "$out/$name.json" "${plans[@]}" || true
  rm -r "$folder"
}

experiment() {
  local three=fast-only,on-demand,sentinel
  local once=(--starts 1 --steps 8) model  # six timed rounds of one process each
  local rivals=$sentinel_chain,ial,first-touch,memory-mode,slow-only
  case $1 in
    resnet50_b16) compare "$1" resnet50 16 $three ;;
    resnet50_b32) compare "$1" resnet50 32 $three ;;
    resnet50_b16_1GBs) compare "$1" resnet50 16 $three --link-bandwidth 1GB/s ;;
    resnet50_b32_1GBs) compare "$1" resnet50 32 $three --link-bandwidth 1GB/s ;;
    resnet32_b128) compare "$1" resnet32 128 $three ;;
    resnet32_b128_1GBs) compare "$1" resnet32 128 $three --link-bandwidth 1GB/s ;;
    resnet32_b128_1thread) compare "$1" resnet32 128 $three --threads 1 ;;
    vgg16_b32) compare "$1" vgg16 32 $three ;;
    resnet50_budgets)
      for share in 15% 30% 50% 80%; do
        keep "$1_${share%\%}" "$sluice" compare resnet50 --batch 16 --fast "$share" --planners $three --steps 5 \
          --spill-dir "$spill" --json "$out/$1_${share%\%}.json"
      done
      ;;
    resnet32_pcie3) compare "$1" resnet32 128 um,um-prefetch,on-demand,sentinel --slow pcie3 ;;
    resnet20_learns)
      keep "$1_fast_only" "$sluice" train resnet20 --batch 64 --steps 100 --planner fast-only --json "$out/$1_fast_only.json"
      keep "$1_sentinel" "$sluice" train resnet20 --batch 64 --steps 100 --fast 25% --spill-dir "$spill" \
        --json "$out/$1_sentinel.json"
      ;;
    resnet200_plan)
      keep "$1" "$sluice" plan resnet200 --batch 16 --fast 20% --spill-dir "$spill" --json "$out/$1.json" -o "$spill/$1.json"
      keep resnet200_verify "$sluice" verify "$spill/$1.json" resnet200 --batch 16 --spill-dir "$spill" --json "$out/resnet200_verify.json"
      ;;
    pytorch) keep "$1" benchmarks/rivals/compare_pytorch.py --rounds 4 --spill-dir "$spill" --json "$out/$1.json" ;;
    pytorch_b32) keep "$1" benchmarks/rivals/compare_pytorch.py resnet50:32 --sluice fast-only,sentinel@20% --rivals plain,checkpoint,disk --rounds 5 \
      --spill-dir "$spill" --json "$out/$1.json" ;;
    gradients) keep "$1" benchmarks/rivals/check_gradients.py --json "$out/$1.json" ;;
    onnx) keep "$1" benchmarks/rivals/check_onnx.py ;;
    vgg416_b4) at_feasible "$1" vgg416 4 --image-size 64 ;;
    gpt2_small_b4) at_feasible "$1" gpt2_small 4 --sequence 256 ;;
    resnet32_characterize) keep "$1" "$sluice" characterize resnet32 --batch 128 --json "$out/$1.json" ;;
    accesses_resnet32) keep "$1" "$sluice" profile resnet32 --batch 128 --accesses --json "$out/$1.json" ;;
    accesses_resnet50) keep "$1" "$sluice" profile resnet50 --batch 16 --accesses --json "$out/$1.json" ;;
    resnet200_profile) profile_twice "$1" resnet200 --batch 16 ;;
    lengths_lstm) lengths "$1" lstm 20 20,25,30,35,40,27 ;;
    lengths_bert) lengths "$1" bert_base 2 32,48,64,96,128,56 ;;
    optane_sentinel)  # Sentinel's table III, small batches
      optane resnet32 128 $rivals
      optane lstm 20 $rivals
      note="images of 64 x 64 in colour, the network's own; the paper trains it on MNIST" optane dcgan 128 $rivals
      optane mobilenet_v1 128 $rivals --image-size 32 --classes 10
      local part why="batch 2 where the paper has 32: a step of 32 takes half a minute on two cores; in two parts,
because a process for each planner holds all of the model in this machine's 24 GiB"
      part=_1 note=$why optane bert_large 2 $sentinel_chain
      part=_2 note=$why optane bert_large 2 sentinel,ial,first-touch,memory-mode,slow-only
      ;;
    pmbd_redl)  # ReDL's table II; all batches are the paper's
      pmbd resnet50_v2 128 --image-size 32 --classes 10
      pmbd lstm 20
      pmbd vgg19 64 --image-size 32 --classes 10 --lr 0.001
      note="images of 75 x 75, the smallest that the network takes; the paper trains it on MNIST" \
        pmbd inception_v3 64 --image-size 75 --classes 10
      ;;
    deferred_updates)  # where a schedule can help on disk, and where it should at least cost nothing
      deferred vgg16 8 --lr 0.001
      deferred vgg416 4 --image-size 64
      deferred lstm 20
      deferred bert_large 2
      ;;
    encoding)
      encoding vgg16 8 --lr 0.001
      encoding squeezenet1_1 32
      encoding dcgan 128
      ;;
    kernel_choice) keep "${1}_vgg16_b8" "$sluice" compare vgg16 --batch 8 --fast 30% --lr 0.001 --steps 6 \
      --planners sentinel,kernel-choice --spill-dir "$spill" --json "$out/${1}_vgg16_b8.json" ;;
    planners) planner_rows "$1" 1,4 on-demand,redl,chen-sqrt,sentinel,deferred-updates,joint ;;
    planners_autotm_optane) planner_rows "$1" 6 autotm-static,autotm-sync,first-touch,on-demand,redl,sentinel,joint ;;
    planners_autotm_pcie) planner_rows "$1" 4 autotm-sync,autotm-async,on-demand,redl,sentinel,joint ;;
    planners_sentinel_gpu) planner_rows "$1" 4,1 $sentinel_ablation,sentinel:additions=lending 20,40 \
      resnet200,bert_large,lstm,mobilenet_v1,dcgan,resnet32,vgg16 ;;
    sentinel_ablation) keep "$1" benchmarks/sentinel_ablation.py --rivals --spill-dir "$spill" --json "$out/$1.json" ;;
    joint_optane)  # Sentinel's five models; ops use the slow tier in place
      for model in resnet32_b128 lstm_b20 dcgan_b128 bert_large_b2; do
        joint_model "$1_$model" $model --fast 20% --slow optane "${once[@]}"
      done
      joint_model "$1_mobilenet_v1_b128" mobilenet_v1_b128 --image-size 32 --classes 10 --fast 20% --slow optane "${once[@]}"
      ;;
    joint_onnx_*) joint_onnx "$1" "${1#joint_onnx_}" --batch 16 --fast 20% "${once[@]}" ;;
    joint40_*) joint_model "$1" "${1#joint40_}" --fast 40% "${once[@]}" ;;
    joint_least_*) joint_model "$1" "${1#joint_least_}" --fast 1% "${once[@]}" ;;
    joint_1GBs_*) joint_model "$1" "${1#joint_1GBs_}" --fast 20% --link-bandwidth 1GB/s "${once[@]}" ;;
    joint_slow_host_*) joint_model "$1" "${1#joint_slow_host_}" --fast 20% "${once[@]}" ;;
    joint_*) joint_model "$1" "${1#joint_}" --fast 20% --starts 2 ;;
    zero_offload_gpt2) keep "$1" "$sluice" compare gpt2_small --batch 8 --sequence 64 --classes 256 --width 512 --depth 6 --optimizer adamw \
      --precision bf16-masters --slow pcie3 --processors device:1,host:1:pcie3 --fast 30% --smallest-feasible --steps 8 \
      --planners zero-offload,zero-offload:checkpoints=1,l2l,swapadvisor,joint,joint:additions=processors --spill-dir "$spill" --json "$out/$1.json" ;;
    zero_offload_delayed) keep "$1" benchmarks/delayed_updates.py --json "$out/$1.json" ;;
    zero_offload_states_on_file) keep "$1" benchmarks/states_on_file.py --spill-dir "$spill" --json "$out/$1.json" ;;
    host_step) keep "$1" build/release/benchmarks/host_step/host_step --json "$out/$1.json" ;;
    host_step_pytorch) keep "$1" benchmarks/rivals/compare_adam.py --json "$out/$1.json" ;;
    paper_ratios) keep "$1" benchmarks/paper_ratios.py --models 1,4,10 --json "$out/$1.json" ;;
    scaling_curve) keep "$1" benchmarks/scaling_curve.py --json "$out/$1.json" ;;
    largest_models) keep "$1" benchmarks/largest_models.py --json "$out/$1.json" ;;
    largest_models_executed) keep "$1" benchmarks/largest_models.py --executed --json "$out/$1.json" ;;
    largest_batches) keep "$1" benchmarks/largest_batches.py --json "$out/$1.json" ;;
    home_search) for model in "${!home_rows[@]}"; do home_search "$model"; done ;;
    home_*) home_figure "$1" "${1#home_}" ;;
    pytorch_joint) keep "$1" benchmarks/rivals/compare_pytorch.py resnet50:32 bert_base:8 --sluice joint@20% \
      --rivals checkpoint,disk --rounds 3 --warmup 1 --alone 1 --spill-dir "$spill" --json "$out/$1.json" ;;
    autotm_figures)  # not among all: needs AutoTM's tables as text (benchmarks/papers/autotm_data.hpp) in $spill/autotm
      keep "$1" build/release/benchmarks/papers/autotm_figures "$spill/autotm" --json "$out/$1.json" ;;
    autotm_pcie3_*) autotm_pcie "$1" "${1#autotm_pcie3_}" ;;
    autotm_*_8to1) autotm "$1" "$(model_in "$1")" 11.1% 1 ;;
    autotm_*_4to1) autotm "$1" "$(model_in "$1")" 20% 2 ;;
    autotm_*_1to1) autotm "$1" "$(model_in "$1")" 50% 2 ;;
    every_planner)  # not among all: takes hours; goes on where it was interrupted
      keep "$1" benchmarks/every_planner.py --spill-dir "$spill" --json "$out/$1.json" ;;
    smallest_budgets) keep "$1" benchmarks/smallest_budgets.py --spill-dir "$spill" --json "$out/$1.json" ;;
    finer_resnet50_b16) keep "$1" "$sluice" compare resnet50 --batch 16 --fast 4% --smallest-feasible --finer-slices 4 --planners sentinel,joint \
      --steps 5 --spill-dir "$spill" --json "$out/$1.json" ;;
    replanning)
      beside_a_busy_disk "$1"
      beside_a_busy_disk "$1_none" --no-replan
      ;;
    chen_sqrt) keep "$1" benchmarks/rivals/compare_pytorch.py resnet50:32 --sluice fast-only,chen-sqrt@60%,joint@20% \
      --rivals plain,checkpoint --rounds 5 --spill-dir "$spill" --json "$out/$1.json" ;;
    plan_packing) pack_plans "$1" resnet32:32 resnet50:8 vgg16:4 mobilenet_v2:8 densenet121:4 inception_v3:4 bert_base:2 \
      gpt2_small:1 lstm:20 dcgan:32 resnet152:4 ;;
    several_tiers) keep "$1" benchmarks/several_tiers.py --spill-dir "$spill" --json "$out/$1.json" ;;
    busy_machine) keep "$1" benchmarks/busy_machine.py --spill-dir "$spill" --json "$out/$1.json" ;;
    kernel_swap) keep "$1" benchmarks/rivals/kernel_swap.py --spill-dir "$spill" --json "$out/$1.json" ;;
    vgg16_b8) at_feasible "$1" vgg16 8 --lr 0.001 ;;  # without norms it diverges at the usual rate
    inception_v?_b* | densenet*_b* | mobilenet_v?_b* | squeezenet1_1_b* | googlenet_b* | lstm_b* | bert_*_b* | dcgan_b*)
      at_feasible "$1" "${1%_b*}" "${1##*_b}" ;;
    *) echo "results.sh: unknown experiment '$1'; --list names them" >&2; exit 2 ;;
  esac
}

case ${1:-} in
  --list) printf '%s\n' "${names[@]}"; exit 0 ;;
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
mkdir -p "$out"
(($#)) || set -- "${names[@]}"
for name in "$@"; do
  experiment "$name"
  echo
done

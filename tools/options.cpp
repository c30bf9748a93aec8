#include "tools/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "sluice/exec/gpu/gpu_memory.hpp"
#include "sluice/exec/measure/choice_profiler.hpp"
#include "sluice/exec/probe/probe.hpp"
#include "sluice/experiment/encoding_profiling.hpp"
#include "sluice/graph/loss_scale.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_file.hpp"
#include "sluice/planners/planner_name.hpp"
#include "sluice/policies/dtr/dtr.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/profile/access_profile_file.hpp"
#include "sluice/profile/network_times.hpp"
#include "sluice/profile/profile_file.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/train/estimated_profile.hpp"
#include "sluice/train/onnx_workload.hpp"
#include "sluice/train/precision.hpp"
#include "sluice/train/processor_choices.hpp"
#include "sluice/train/progress.hpp"
#include "tools/terminal/output_settings.hpp"

namespace sluice {
namespace {

// Policies have no plan, but can be named where a step is run or predicted.
std::string policy_help() {
  std::string text = "\nor, as accesses happen and without a plan (slow memory emulated):";
  for (const PolicyEntry& entry : policies()) text += fmt::format("\n{:>16}  {}", entry.name, entry.summary);
  return text + fmt::format("\nor, during the step and without slow memory:\n{:>16}  {}", kDtrName, kDtrSummary);
}

std::string addition_help() {
  std::string text = "\nPLANNER:additions=none is a planner as published, PLANNER:additions=A+B has these of our own:";
  for (const PlannerEntry& entry : planners()) {
    for (const PlannerAddition& each : entry.additions) {
      text += fmt::format("\n{:>16}  {}: {}", entry.name, each.name, each.summary);
    }
  }
  return text;
}

std::string text_of_default(const PlannerSetting& setting) {
  if (setting.words.empty()) return fmt::format("{:g}", setting.value);
  return std::string(setting.words[static_cast<std::size_t>(setting.value)]);
}

std::string setting_help() {
  std::string text = "\nPLANNER:NAME=VALUE sets a number, or one of a few words:";
  for (const PlannerEntry& entry : planners()) {
    for (const PlannerSetting& each : entry.settings) {
      text += fmt::format("\n{:>16}  {}: {} (default {})", entry.name, each.name, each.summary, text_of_default(each));
    }
  }
  return text;
}

int core_count() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

Status check_above_zero(std::string_view option, const std::optional<std::int64_t>& value) {
  if (!value || *value > 0) return {};
  return Error{ErrorCode::kBadInput, fmt::format("{} must be above 0, got {}", option, *value)};
}

}  // namespace

void WorkloadArguments::add_to(CLI::App& command) {
  command.add_option("model", model, "Built-in model (sluice models lists them)")->type_name("MODEL");
  command.add_option("--onnx", onnx, "Instead of a built-in model: this ONNX file, with its weights")
      ->check(CLI::ExistingFile);
  add_settings_to(command);
}

void WorkloadArguments::add_settings_to(CLI::App& command) {
  add_model_options(command);
  add_optimizer_options(command);
}

void WorkloadArguments::add_model_options(CLI::App& command) {
  constexpr const char* kGroup = "Model";
  const auto add = [&](const char* name, std::optional<std::int64_t>& value, const char* help) {
    command.add_option(name, value, fmt::format("{} (default: the model's usual)", help))->group(kGroup);
  };
  add("--batch", batch, "Samples per batch");
  add("--image-size", image_size, "Pixels a side");
  add("--classes", classes, "Number of classes; of a language model: size of the vocabulary");
  add("--sequence", sequence, "Tokens in a sequence");
  add("--width", width, "Channels of the first convolution, growth, or hidden features");
  add("--depth", depth, "Layers, or blocks a stage");
  command.add_option("--dropout", dropout, "Share of activations set to zero (default: the model's usual)")
      ->group(kGroup);
  command
      .add_option("--loss", loss, "Of an ONNX file: cross-entropy, next-token or masked-token; auto goes by its inputs")
      ->type_name("auto|cross-entropy|next-token|masked-token")
      ->capture_default_str()
      ->group(kGroup);
}

void WorkloadArguments::add_optimizer_options(CLI::App& command) {
  constexpr const char* kGroup = "Optimizer";
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str()->group(kGroup);
  };
  add("--optimizer", optimizer, "What updates parameters")->type_name("sgd|adam|adamw");
  add("--momentum", update.momentum, "Of SGD; Adam's beta 1");
  add("--beta2", update.beta2, "Of Adam");
  add("--epsilon", update.epsilon, "Of Adam");
  add("--weight-decay", update.weight_decay, "Added to the gradient; adamw: taken from the weights");
  add("--clip-norm", update.clip_norm, "Multiply gradients until their norm together is at most this; 0: as they are");
  add("--accumulate", update.accumulate, "Batches a step: their gradients are averaged before the update");
  add("--ranks", update.ranks,
      "Processes that train together, each with batches of its own (to train: mpirun -n RANKS sluice train)");
  add("--precision", precision,
      "fp32, bf16 for activations, or bf16-masters for parameters and gradients too, beside fp32 masters (where the "
      "CPU computes in it); fp16-masters stores them in fp16, computes in fp32 and scales losses")
      ->type_name("fp32|bf16|bf16-masters|fp16-masters");
  add("--loss-scale", update.loss_scale,
      "Of fp16, at first: gradients are so many times as large; halved when they overflow, doubled after 2,000 steps");
  add("--finer-slices", finer_slices,
      "Cut what decides the smallest budget so many times finer than usual: less memory, longer steps");
  command
      .add_flag(
          "--delay-updates", update.delayed,
          "Update by the gradients of the step before, beside the step that runs; goes on from checkpoints of runs "
          "that do not")
      ->group(kGroup);
  command
      .add_flag("--keep-norm-outputs", keep_norm_outputs,
                "Keep what is cheap to make again (batch norms' outputs, activation functions') for the backward pass")
      ->group(kGroup);
}

Result<ModelOptions> WorkloadArguments::shape() const {
  for (const auto& [name, value] :
       {std::pair("--image-size", image_size), std::pair("--classes", classes), std::pair("--sequence", sequence),
        std::pair("--width", width), std::pair("--depth", depth)}) {
    SLUICE_RETURN_IF_ERROR(check_above_zero(name, value));
  }
  if (batch && *batch < 1) {
    return Error{ErrorCode::kBadInput, fmt::format("batch must be from 1, got {}", *batch)};
  }
  if (dropout && !(*dropout >= 0 && *dropout < 1)) {
    return Error{ErrorCode::kBadInput, fmt::format("--dropout must be from 0 to below 1, got {}", *dropout)};
  }
  return ModelOptions{batch.value_or(0), image_size.value_or(0), classes.value_or(0),    sequence.value_or(0),
                      width.value_or(0), depth.value_or(0),      dropout.value_or(-1.0F)};
}

Result<OptimizerOptions> WorkloadArguments::optimizer_options() const {
  OptimizerOptions options = update;
  SLUICE_ASSIGN(options.optimizer, parse_optimizer(optimizer));
  options.recompute_cheap = !keep_norm_outputs;
  if (!(options.momentum >= 0) || !(options.weight_decay >= 0)) {
    return Error{ErrorCode::kBadInput, "--momentum and --weight-decay must not be negative"};
  }
  if (!(options.clip_norm >= 0 && options.clip_norm < std::numeric_limits<float>::infinity())) {
    return Error{ErrorCode::kBadInput, fmt::format("--clip-norm must be from 0, got {}", options.clip_norm)};
  }
  if (options.accumulate < 1 || options.accumulate > kMostBatches) {
    return bad_input(fmt::format("--accumulate must be from 1 to {}, got {}", kMostBatches, options.accumulate));
  }
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    return bad_input(fmt::format("--ranks must be from 1 to {}, got {}", kMostRanks, options.ranks));
  }
  if (!is_loss_scale(options.loss_scale)) {
    return bad_input(fmt::format("--loss-scale must be a power of two from {} to {}, got {}", kLeastLossScale,
                                 kMostLossScale, options.loss_scale));
  }
  if (options.optimizer == Optimizer::kSgd) return options;
  if (!(options.momentum < 1) || !(options.beta2 >= 0 && options.beta2 < 1) || !(options.epsilon > 0)) {
    return Error{ErrorCode::kBadInput, "Adam takes --momentum and --beta2 from 0 to below 1, and an --epsilon above 0"};
  }
  return options;
}

Result<WorkloadOptions> WorkloadArguments::options(int threads) const {
  if (model.empty() == onnx.empty()) {
    return Error{ErrorCode::kBadInput, "name either a built-in model (sluice models lists them) or --onnx FILE"};
  }
  WorkloadOptions options;
  options.model = model;
  options.onnx = onnx;
  SLUICE_ASSIGN(options.onnx_loss, parse_onnx_loss(loss));
  SLUICE_ASSIGN(options.shape, shape());
  SLUICE_ASSIGN(options.optimizer, optimizer_options());
  SLUICE_ASSIGN(options.precision, parse_precision(precision));
  if (options.precision != Precision::kF16Masters && update.loss_scale != OptimizerOptions{}.loss_scale) {
    return bad_input(fmt::format("--loss-scale goes with --precision fp16-masters alone, not with {}", precision));
  }
  if (finer_slices < 1 || finer_slices > kFinestSlices) {
    return bad_input(fmt::format("--finer-slices must be from 1 to {}, got {}", kFinestSlices, finer_slices));
  }
  options.finer_slices = finer_slices;
  options.threads = threads;
  return options;
}

void MachineArguments::add_threads_to(CLI::App& command) {
  command.add_option("--threads", threads, "Compute threads (default: all processors)");
}

void MachineArguments::add_to(CLI::App& command) {
  add_threads_to(command);
  command
      .add_option("--slow", slow,
                  fmt::format("Slow tier: {}, numa:NODE; with :8GiB or :25% (of what everything takes) no more of it. "
                              "Again for each further one, nearest first (default: file; with --gpu host, which is "
                              "pinned memory)",
                              fmt::join(slow_tier_names(), ", ")))
      ->type_name(fmt::format("{}", fmt::join(slow_tier_names(), "|")))
      ->allow_extra_args(false);
  command.add_flag("--gpu", gpu, "Compute on the NVIDIA GPU: its memory is the fast tier");
  command.add_option("--spill-dir", spill_dir, "Where the file tier lies: a folder, or a FILE.spill kept between runs")
      ->type_name("FOLDER");
  command
      .add_option("--link-bandwidth", link_bandwidth,
                  "Throttle all links to this, such as 1GB/s (emulates slower ones)")
      ->type_name("BANDWIDTH");
  command
      .add_option("--network", network,
                  "Predict steps of several ranks with a network of this bandwidth, such as 12.5GB/s (simulated)")
      ->type_name("BANDWIDTH");
  command
      .add_option("--processors", processors,
                  "Set cores aside for several processors that compute at once, the main one first, such as "
                  "device:1,host:1 (emulated); NAME:THREADS:TIER+TIER says which memory each may use in place")
      ->type_name("PROCESSORS");
  command
      .add_option("--on", on, "Give a phase's ops to a processor, such as host:update. Again for each further phase")
      ->type_name("ASSIGNMENT")
      ->allow_extra_args(false);
  command
      .add_option("--choices-of", choices_of,
                  "Run every op by the kernel and on the processor that this plan has for it, whatever the planner: "
                  "fast-only then computes that plan's bits")
      ->check(CLI::ExistingFile);
  command.add_option("--cache-dir", cache_dir, "Where measured op times are kept (default: ~/.cache/sluice)")
      ->type_name("FOLDER");
}

Result<int> MachineArguments::thread_count() const {
  const int cores = core_count();
  if (threads < 0 || threads > cores) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("--threads must be from 1 to the number of processors, {}; got {}", cores, threads)};
  }
  SLUICE_ASSIGN(const std::vector<ProcessorRequest> requests, processor_requests());
  if (!requests.empty()) return requests.front().threads;
  return threads == 0 ? cores : threads;
}

Result<std::vector<ProcessorRequest>> MachineArguments::processor_requests() const {
  if (processors.empty()) return std::vector<ProcessorRequest>();
  if (threads != 0)
    return bad_input("--threads and --processors exclude each other: each processor has its own threads");
  SLUICE_ASSIGN(std::vector<ProcessorRequest> requests, parse_processors(processors));
  int together = 0;
  for (const ProcessorRequest& each : requests) together += each.threads;
  if (together <= core_count()) return requests;
  return bad_input(fmt::format("--processors {}: {} threads together, and this machine has {} cores to set aside",
                               processors, together, core_count()));
}

Result<Machine> MachineArguments::machine(const std::optional<Bytes>& whole) const {
  MachineOptions options{.slow = {}, .spill_path = spill_dir};
  SLUICE_ASSIGN(options.threads, thread_count());
  SLUICE_ASSIGN(options.processors, processor_requests());
  if (gpu) {
    SLUICE_ASSIGN(options.gpu, find_gpu());
  }
  const std::vector<std::string> usual{gpu ? "host" : "file"};
  for (const std::string& text : slow.empty() ? usual : slow) {
    SLUICE_ASSIGN(const SlowTierRequest asked, parse_slow_tier(text));
    if (asked.is_share() && !whole) {
      return Error{ErrorCode::kBadInput, fmt::format("--slow {}: this command does not know what everything takes; say "
                                                     "how many bytes, such as {}:2GiB",
                                                     text, asked.name)};
    }
    const Bytes capacity = asked.capacity ? asked.capacity->resolve(whole.value_or(0)) : 0;
    options.slow.push_back({asked.name, capacity});
  }
  if (!link_bandwidth.empty()) {
    SLUICE_ASSIGN(options.link_bandwidth, parse_bandwidth(link_bandwidth));
  }
  return make_machine(options);
}

ProfileCache MachineArguments::open_cache(const Machine& machine) const {
  return ProfileCache::open(machine.compute_fingerprint(),
                            cache_dir.empty() ? ProfileCache::default_folder() : std::filesystem::path(cache_dir));
}

void ProfileArguments::add_to(CLI::App& command) {
  command.add_option("--profile", times, "Op times from this file (sluice profile --save) instead of measuring")
      ->check(CLI::ExistingFile);
  command
      .add_option("--accesses", accesses,
                  "Main-memory accesses from this file (sluice profile --accesses --save): sentinel prefetches what is "
                  "accessed most first. Without it planners go by the ops that use a tensor")
      ->check(CLI::ExistingFile);
}

namespace {

Result<Workload> build_with_progress(const WorkloadOptions& options) {
  const WaitingLine waiting(fmt::format("preparing {}", options.model.empty() ? options.onnx.string() : options.model));
  return build_workload(options);
}

Result<Plan> read_with_progress(const std::string& path) {
  const WaitingLine waiting(fmt::format("reading {}", path));
  return read_plan(path);
}

Result<std::vector<OpChoice>> asked_choices(const Graph& graph, const Machine& on, const MachineArguments& machine) {
  if (!machine.on.empty() && !machine.choices_of.empty()) {
    return bad_input("--on and --choices-of exclude each other: both say where ops run");
  }
  if (!machine.on.empty()) return choose_processors(graph, on, machine.on);
  if (machine.choices_of.empty()) return std::vector<OpChoice>();
  SLUICE_ASSIGN(const Plan plan, read_plan(machine.choices_of));
  if (plan.graph_fingerprint != graph.fingerprint()) {
    return bad_input(fmt::format("--choices-of {}: that plan is for another graph, {} with other options perhaps",
                                 machine.choices_of, plan.graph_name));
  }
  SLUICE_ASSIGN(std::vector<OpChoice> choices, choices_by_op(plan, graph));
  SLUICE_RETURN_IF_ERROR(check_choices(graph, static_cast<ProcessorId>(on.processor_count()), choices));
  return choices;
}

}  // namespace

Status probe_with_progress(Machine& machine, ProfileCache& cache, Probe probe) {
  const WaitingLine waiting("measuring tiers and links", {.usual = usual_probe_seconds(machine)});
  return probe_machine(machine, cache, probe);
}

Result<ModelOnMachine> build_model(const WorkloadArguments& workload, const MachineArguments& machine) {
  SLUICE_ASSIGN(const int threads, machine.thread_count());
  SLUICE_ASSIGN(WorkloadOptions options, workload.options(threads));
  SLUICE_ASSIGN(const std::vector<ProcessorRequest> processors, machine.processor_requests());
  for (std::size_t other = 1; other < processors.size(); ++other) {
    options.other_processors.push_back({processors[other].threads, processors[other].backend});
  }
  if (!processors.empty()) options.backend = processors.front().backend;
  if (machine.gpu) options.backend = "cuda";
  SLUICE_ASSIGN(Workload built, build_with_progress(options));
  SLUICE_ASSIGN(Machine on, machine.machine(fast_only_bytes(built.graph())));
  SLUICE_ASSIGN(built.choices, asked_choices(built.graph(), on, machine));
  print_notes(built.notes);
  return ModelOnMachine{std::move(built), std::move(on)};
}

namespace {

Status add_network(const MachineArguments& arguments, Prepared& prepared) {
  if (arguments.network.empty()) return {};
  if (prepared.workload.options.optimizer.ranks == 1) return bad_input("--network is between several --ranks");
  SLUICE_ASSIGN(const BytesPerSecond bandwidth, parse_bandwidth(arguments.network));
  print_notes(
      {fmt::format("{} ranks, {} a step over a network of {} (simulated)", prepared.workload.options.optimizer.ranks,
                   format_bytes(bytes_to_ranks(prepared.workload.graph())), format_bandwidth(bandwidth))});
  add_network_seconds(prepared.workload.graph(), bandwidth, prepared.profile);
  return {};
}

// As large as anybody asks, where nobody has said how large.
Status make_tiers_endless(const MachineArguments& arguments, Machine& machine) {
  constexpr Bytes kAnySize = Bytes{1} << 50;
  for (std::size_t tier = 0; tier < machine.tiers.size(); ++tier) {
    if (tier > 0 && tier <= arguments.slow.size()) {
      SLUICE_ASSIGN(const SlowTierRequest asked, parse_slow_tier(arguments.slow[tier - 1]));
      if (asked.capacity) continue;
    }
    machine.tiers[tier].capacity = std::max(machine.tiers[tier].capacity, kAnySize);
  }
  return {};
}

Status estimate(const MachineArguments& arguments, const ProfileArguments& profile, Prepared& prepared) {
  SLUICE_RETURN_IF_ERROR(make_tiers_endless(arguments, prepared.machine));
  for (const Link& link : prepared.machine.links) {
    if (link.bandwidth > 0) continue;
    return bad_input(
        fmt::format("--estimate measures no links, and nothing says how fast {} to {} is: add "
                    "--link-bandwidth, or take --slow pcie3",
                    prepared.machine.tier(link.from).name, prepared.machine.tier(link.to).name));
  }
  if (profile.times.empty()) {
    prepared.profile = estimated_profile(prepared.workload.graph(), prepared.machine);
  } else {
    SLUICE_ASSIGN(prepared.profile, read_profile(profile.times, prepared.workload.graph(), prepared.machine));
  }
  return add_network(arguments, prepared);
}

}  // namespace

Result<Prepared> prepare(const WorkloadArguments& workload, const MachineArguments& arguments, Probe probe,
                         const ProfileArguments& profile) {
  SLUICE_ASSIGN(ModelOnMachine model, build_model(workload, arguments));
  Prepared prepared{std::move(model), {}, {}};
  if (profile.estimate) {
    SLUICE_RETURN_IF_ERROR(estimate(arguments, profile, prepared));
    return prepared;
  }
  ProfileCache cache = arguments.open_cache(prepared.machine);
  print_notes(cache.notes());
  SLUICE_RETURN_IF_ERROR(probe_with_progress(prepared.machine, cache, probe));
  if (!profile.accesses.empty()) {
    SLUICE_ASSIGN(prepared.accesses,
                  read_access_profile(profile.accesses, prepared.workload.graph(), prepared.machine));
  }
  if (!profile.times.empty()) {
    SLUICE_ASSIGN(prepared.profile, read_profile(profile.times, prepared.workload.graph(), prepared.machine));
    SLUICE_RETURN_IF_ERROR(add_network(arguments, prepared));
    return prepared;
  }
  ProgressLine progress("measuring ops");
  SLUICE_ASSIGN(prepared.profile, measure_profile(*prepared.workload.compiled, prepared.machine, cache,
                                                  [&](int measured, int total) { progress.update(measured, total); }));
  SLUICE_RETURN_IF_ERROR(measure_processors(*prepared.workload.compiled, prepared.machine, cache, prepared.profile,
                                            [&](int measured, int total) { progress.update(measured, total); }));
  SLUICE_RETURN_IF_ERROR(add_network(arguments, prepared));
  return prepared;
}

Result<PlannedModel> read_planned_model(const std::string& plan, const WorkloadArguments& workload,
                                        const MachineArguments& machine) {
  SLUICE_ASSIGN(Plan read, read_with_progress(plan));
  SLUICE_ASSIGN(ModelOnMachine model, build_model(workload, machine));
  return PlannedModel{std::move(model), std::move(read)};
}

Status add_encodings(Prepared& prepared, const MachineArguments& machine, const std::vector<std::string>& planners,
                     const FastBudget& fast, const SessionOptions& session) {
  const bool wanted = prepared.machine.tiers.size() > 1 && std::ranges::any_of(planners, wants_encodings);
  if (!wanted) return {};
  ProfileCache cache = machine.open_cache(prepared.machine);
  const WaitingLine waiting("measuring what encoding tensors saves");
  return add_encodings(prepared.workload, prepared.machine, fast, session, cache, prepared.profile);
}

Status add_implementations(Prepared& prepared, const MachineArguments& machine,
                           const std::vector<std::string>& planners) {
  const bool chosen =
      std::ranges::any_of(prepared.workload.choices, [](const OpChoice& each) { return each.implementation != 0; });
  const bool chooses = std::ranges::any_of(
      planners, [](const std::string& name) { return chooses_implementations(std::string_view(name)); });
  const bool known = has_implementation_times(prepared.profile);
  return (chosen || chooses) && !known ? measure_choices(prepared, machine) : Status();
}

Status measure_choices(Prepared& prepared, const MachineArguments& machine) {
  ProfileCache cache = machine.open_cache(prepared.machine);
  ProgressLine progress("measuring kernels");
  return measure_implementations(*prepared.workload.compiled, prepared.machine, cache, prepared.profile,
                                 [&](int measured, int total) { progress.update(measured, total); });
}

Status check_planner_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (names_policy(name)) continue;
    const Result<ChosenPlanner> chosen = choose_planner(name);
    if (chosen.ok()) continue;
    if (find_planner(name) != nullptr) return chosen.error();
    std::string all;
    for (const PlannerEntry& entry : planners()) all += fmt::format("{}{}", all.empty() ? "" : ", ", entry.name);
    return bad_input(
        fmt::format("unknown planner '{}'; known planners and policies: {}, {}", name, all, known_policies()));
  }
  return {};
}

void add_json_option(CLI::App& command, std::string& path) {
  command
      .add_option(
          "--json", path,
          fmt::format("Also write the result to this file as JSON (docs/json.md); {}: to standard output, and the text "
                      "for people to standard error",
                      kStandardOutput))
      ->type_name("FILE")
      ->group(kOutputGroup);
}

void add_learning_rate_option(CLI::App& command, std::optional<double>& rate) {
  command.add_option("--lr", rate, "Base learning rate (default: 0.02 for sgd, 0.001 for adam and adamw)")
      ->type_name("RATE");
}

Result<double> base_learning_rate(const std::optional<double>& asked, const std::string& optimizer) {
  if (!asked) return optimizer == "sgd" ? 0.02 : 0.001;
  if (*asked > 0) return *asked;
  return Error{ErrorCode::kBadInput, "--lr must be above 0"};
}

void add_data_options(CLI::App& command, SessionOptions& session) {
  command
      .add_option("--data", session.data,
                  "synthetic, cifar10:DIRECTORY, cifar100:DIRECTORY, mnist:DIRECTORY or tokens:FILE_OR_FOLDER")
      ->type_name("DATA")
      ->capture_default_str();
  command.add_option("--seed", session.seed, "Of initial parameters, data, its order and dropout")
      ->capture_default_str();
}

void add_trials_option(CLI::App& command, std::optional<std::int64_t>& trials) {
  command.add_option("--trials", trials,
                     "At most so many steps to decide between plans by running them (0: none; default: as many as the "
                     "planner wants where ops can use slow memory in place, else none)");
}

Status check_trials(const std::optional<std::int64_t>& trials) {
  if (trials.value_or(0) >= 0) return {};
  return Error{ErrorCode::kBadInput, fmt::format("--trials must not be negative, got {}", *trials)};
}

std::string planner_help() {
  std::string text = "Who decides what lives where:";
  for (const PlannerEntry& entry : planners()) text += fmt::format("\n{:>16}  {}", entry.name, entry.summary);
  return text + addition_help() + setting_help() + policy_help();
}

}  // namespace sluice

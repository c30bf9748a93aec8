// From arguments to what planners are asked with: the model built, the machine probed, op times known.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/experiment/encoding_profiling.hpp"
#include "sluice/experiment/first_figures.hpp"
#include "sluice/measure/choice_profiler.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_file.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/policies/run_file.hpp"
#include "sluice/probe/probe.hpp"
#include "sluice/profile/access_profile_file.hpp"
#include "sluice/profile/network_times.hpp"
#include "sluice/profile/profile_file.hpp"
#include "sluice/train/planning/estimated_profile.hpp"
#include "sluice/train/workload/processor_choices.hpp"
#include "tools/options.hpp"

namespace sluice::cli {
namespace {

Result<train::Workload> build_with_progress(const train::WorkloadOptions& options) {
  const WaitingLine waiting(fmt::format("preparing {}", options.model.empty() ? options.onnx.string() : options.model));
  return train::build_workload(options);
}

Result<policies::Run> read_with_progress(const std::string& path) {
  const WaitingLine waiting(fmt::format("reading {}", path));
  return policies::read_run(path);
}

Result<std::vector<graph::OpChoice>> asked_choices(const graph::Graph& graph, const memory::Machine& on,
                                                   const MachineArguments& machine) {
  if (!machine.on.empty() && !machine.choices_of.empty()) {
    return bad_input("--on and --choices-of exclude each other: both say where ops run");
  }
  if (!machine.on.empty()) return train::choose_processors(graph, on, machine.on);
  if (machine.choices_of.empty()) return std::vector<graph::OpChoice>();
  SLUICE_ASSIGN(const plan::Plan plan, plan::read_plan(machine.choices_of));
  if (plan.graph_fingerprint != graph.fingerprint()) {
    return bad_input(fmt::format("--choices-of {}: that plan is for another graph, {} with other options perhaps",
                                 machine.choices_of, plan.graph_name));
  }
  SLUICE_ASSIGN(std::vector<graph::OpChoice> choices, plan::choices_by_op(plan, graph));
  SLUICE_RETURN_IF_ERROR(plan::check_choices(graph, as_id<ProcessorId>(on.processor_count()), choices));
  return choices;
}

}  // namespace

Status probe_with_progress(memory::Machine& machine, profile::ProfileCache& cache, experiment::Probe probe) {
  const WaitingLine waiting("measuring tiers and links", {.usual = probe::usual_probe_seconds(machine)});
  return experiment::probe_machine(machine, cache, probe);
}

Result<ModelOnMachine> build_model(const WorkloadArguments& workload, const MachineArguments& machine) {
  SLUICE_ASSIGN(const int threads, machine.thread_count());
  SLUICE_ASSIGN(train::WorkloadOptions options, workload.options(threads));
  SLUICE_ASSIGN(const std::vector<memory::ProcessorRequest> processors, machine.processor_requests());
  for (std::size_t other = 1; other < processors.size(); ++other) {
    options.other_processors.push_back({processors[other].threads, processors[other].backend});
  }
  if (!processors.empty()) options.backend = processors.front().backend;
  if (machine.gpu) options.backend = "cuda";
  SLUICE_ASSIGN(train::Workload built, build_with_progress(options));
  SLUICE_ASSIGN(memory::Machine on, machine.machine(planners::fast_only_bytes(built.graph())));
  SLUICE_ASSIGN(built.choices, asked_choices(built.graph(), on, machine));
  print_notes(built.notes);
  return ModelOnMachine{std::move(built), std::move(on)};
}

namespace {

// Where it may matter.
void note_estimates(const profile::Profile& profile) {
  if (profile.estimated_share <= experiment::kHardlyMatters) return;
  print_notes({fmt::format(
      "times of {} of {} distinct ops, {:.0f} % of the step, are told from others of their kind: there was no time to "
      "measure them (sluice profile measures all)",
      profile.estimated_ops, profile.distinct_ops, 100 * profile.estimated_share)});
}

Status add_network(const MachineArguments& arguments, Prepared& prepared) {
  if (arguments.network.empty()) return {};
  if (prepared.workload.options.optimizer.ranks == 1) return bad_input("--network is between several --ranks");
  SLUICE_ASSIGN(const BytesPerSecond bandwidth, parse_bandwidth(arguments.network));
  print_notes(
      {fmt::format("{} ranks, {} a step over a network of {} (simulated)", prepared.workload.options.optimizer.ranks,
                   format_bytes(profile::bytes_to_ranks(prepared.workload.graph())), format_bandwidth(bandwidth))});
  profile::add_network_seconds(prepared.workload.graph(), bandwidth, prepared.profile);
  return {};
}

// As large as anybody asks, where nobody has said how large.
Status make_tiers_endless(const MachineArguments& arguments, memory::Machine& machine) {
  constexpr Bytes kAnySize = Bytes{1} << 50;
  for (std::size_t tier = 0; tier < machine.tiers.size(); ++tier) {
    if (tier > 0 && tier <= arguments.slow.size()) {
      SLUICE_ASSIGN(const memory::SlowTierRequest asked, memory::parse_slow_tier(arguments.slow[tier - 1]));
      if (asked.capacity) continue;
    }
    machine.tiers[tier].capacity = std::max(machine.tiers[tier].capacity, kAnySize);
  }
  return {};
}

Status estimate(const MachineArguments& arguments, const ProfileArguments& profile, Prepared& prepared) {
  SLUICE_RETURN_IF_ERROR(make_tiers_endless(arguments, prepared.machine));
  for (const memory::Link& link : prepared.machine.links) {
    if (link.bandwidth > 0) continue;
    return bad_input(
        fmt::format("--estimate measures no links, and nothing says how fast {} to {} is: add "
                    "--link-bandwidth, or take --slow pcie3",
                    prepared.machine.tier(link.from).name, prepared.machine.tier(link.to).name));
  }
  if (profile.times.empty()) {
    prepared.profile = train::estimated_profile(prepared.workload.graph(), prepared.machine);
  } else {
    SLUICE_ASSIGN(prepared.profile, profile::read_profile(profile.times, prepared.workload.graph(), prepared.machine));
  }
  return add_network(arguments, prepared);
}

}  // namespace

Result<Prepared> prepare(const WorkloadArguments& workload, const MachineArguments& arguments, experiment::Probe probe,
                         const ProfileArguments& profile) {
  SLUICE_ASSIGN(ModelOnMachine model, build_model(workload, arguments));
  Prepared prepared{std::move(model), {}, false, {}};
  SLUICE_RETURN_IF_ERROR(add_figures(prepared, arguments, probe, profile));
  return prepared;
}

Status add_figures(Prepared& prepared, const MachineArguments& arguments, experiment::Probe probe,
                   const ProfileArguments& profile) {
  if (profile.estimate) return estimate(arguments, profile, prepared);
  profile::ProfileCache cache = arguments.open_cache(prepared.machine);
  print_notes(cache.notes());
  SLUICE_RETURN_IF_ERROR(probe_with_progress(prepared.machine, cache, probe));
  if (!profile.accesses.empty()) {
    SLUICE_ASSIGN(prepared.accesses,
                  profile::read_access_profile(profile.accesses, prepared.workload.graph(), prepared.machine));
  }
  if (!profile.times.empty()) {
    SLUICE_ASSIGN(prepared.profile, profile::read_profile(profile.times, prepared.workload.graph(), prepared.machine));
    return add_network(arguments, prepared);
  }
  ProgressLine progress("measuring ops");
  const auto show = [&](int done, int total) { progress.update(done, total); };
  kernels::CompiledGraph& compiled = *prepared.workload.compiled;
  SLUICE_ASSIGN(
      prepared.profile,
      measure::measure_profile(compiled, prepared.machine, cache,
                               {.on_progress = show, .most_seconds = profile.most_seconds, .cold = profile.cold}));
  SLUICE_RETURN_IF_ERROR(measure::measure_processors(compiled, prepared.machine, cache, prepared.profile, show));
  progress.clear();
  note_estimates(prepared.profile);
  return add_network(arguments, prepared);
}

Status add_first_figures(Prepared& prepared, const MachineArguments& arguments) {
  profile::ProfileCache cache = arguments.open_cache(prepared.machine);
  print_notes(cache.notes());
  const WaitingLine waiting("looking at the machine");
  SLUICE_ASSIGN(train::Figures figures, experiment::first_figures(prepared.workload, prepared.machine, cache));
  prepared.machine = std::move(figures.machine);
  prepared.profile = std::move(figures.profile);
  prepared.estimated = figures.estimated;
  return {};
}

Result<PlannedModel> read_planned_model(const std::string& plan, const WorkloadArguments& workload,
                                        const MachineArguments& machine) {
  SLUICE_ASSIGN(policies::Run read, read_with_progress(plan));
  SLUICE_ASSIGN(ModelOnMachine model, build_model(workload, machine));
  return PlannedModel{std::move(model), std::move(read)};
}

Status measure_encodings(Prepared& prepared, const MachineArguments& machine, const train::FastBudget& fast,
                         const train::SessionOptions& session) {
  profile::ProfileCache cache = machine.open_cache(prepared.machine);
  const WaitingLine waiting("measuring what encoding tensors saves");
  return experiment::add_encodings(prepared.workload, prepared.machine, fast, session, cache, prepared.profile);
}

Status add_implementations(Prepared& prepared, const MachineArguments& machine,
                           const std::vector<std::string>& planners) {
  const bool chosen = std::ranges::any_of(prepared.workload.choices,
                                          [](const graph::OpChoice& each) { return each.implementation != 0; });
  const bool chooses = std::ranges::any_of(
      planners, [](const std::string& name) { return planners::chooses_implementations(std::string_view(name)); });
  const bool known = profile::has_implementation_times(prepared.profile);
  return (chosen || chooses) && !known ? measure_choices(prepared, machine) : Status();
}

Status measure_choices(Prepared& prepared, const MachineArguments& machine) {
  profile::ProfileCache cache = machine.open_cache(prepared.machine);
  ProgressLine progress("measuring kernels");
  return measure::measure_implementations(*prepared.workload.compiled, prepared.machine, cache, prepared.profile,
                                          [&](int measured, int total) { progress.update(measured, total); });
}

namespace {

// What is known of other choices, in the same moment as the rest: else the moments would be compared, not the choices.
Status measure_choices_again(const Prepared& prepared, profile::ProfileCache& cache, profile::Profile& again) {
  kernels::CompiledGraph& compiled = *prepared.workload.compiled;
  SLUICE_RETURN_IF_ERROR(measure::measure_processors(compiled, prepared.machine, cache, again));
  if (!profile::has_implementation_times(prepared.profile)) return {};
  return measure::measure_implementations(compiled, prepared.machine, cache, again, {}, measure::KnownTimes::kReplace);
}

}  // namespace

std::function<Result<profile::Profile>()> measuring_again(const Prepared& prepared, const MachineArguments& machine,
                                                          const ProfileArguments& profile) {
  if (!profile.times.empty()) return {};
  return [&prepared, &machine]() -> Result<profile::Profile> {
    profile::ProfileCache cache = machine.open_cache(prepared.machine);
    ProgressLine progress("measuring ops again");
    const auto show = [&](int done, int total) { progress.update(done, total); };
    SLUICE_ASSIGN(profile::Profile again,
                  measure::measure_profile(*prepared.workload.compiled, prepared.machine, cache,
                                           {.on_progress = show, .known = measure::KnownTimes::kReplace}));
    again.encodings = prepared.profile.encodings;
    SLUICE_RETURN_IF_ERROR(measure_choices_again(prepared, cache, again));
    return again;
  };
}

}  // namespace sluice::cli

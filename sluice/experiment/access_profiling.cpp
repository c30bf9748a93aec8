#include "sluice/experiment/access_profiling.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "sluice/base/hash.hpp"
#include "sluice/measure/access_profiler.hpp"
#include "sluice/memory/on_host.hpp"
#include "sluice/plan/own_pages.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/profile/access_profile_file.hpp"
#include "sluice/train/planning/estimated_profile.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "sluice/train/session.hpp"

namespace sluice::experiment {
namespace {

constexpr float kLearningRate = 1e-3F;  // small, so that a model without warm-up stays finite for a few steps

bool has_addressable_slow_tier(const memory::Machine& machine) {
  return std::any_of(machine.tiers.begin() + 1, machine.tiers.end(),
                     [](const memory::Tier& tier) { return tier.addressable; });
}

// The plan under which counting adds nothing to fast memory, see the header.
struct PlanChoice {
  std::string_view planner;
  train::FastBudget fast;
};

Result<PlanChoice> choose_plan(const graph::Graph& graph, const memory::Machine& machine,
                               const train::FastBudget& fast) {
  if (has_addressable_slow_tier(machine)) return PlanChoice{"slow-only", {.all_ops = true}};
  const Bytes whole = planners::fast_only_bytes(graph);
  const Bytes budget = fast.size ? fast.size->resolve(whole) : whole;
  if (budget >= whole) return PlanChoice{"fast-only", {.all_ops = true}};
  return PlanChoice{"on-demand", {fast.size, true, true}};
}

// Beside the profile cache. Everything that the counts depend on is in the name.
std::filesystem::path stored_profile_path(const profile::ProfileCache& cache, const graph::Graph& graph,
                                          const memory::Machine& machine, const PlanChoice& plan,
                                          const AccessOptions& options) {
  Hasher hasher;
  hasher.add(std::string_view(graph.fingerprint())).add(std::string_view(machine.fingerprint())).add(plan.planner);
  const Bytes budget = plan.fast.size ? plan.fast.size->resolve(planners::fast_only_bytes(graph)) : 0;
  hasher.add(budget).add(options.tlb_reach).add(options.largest_chunk).add(options.hardware_sampling);
  return cache.path().parent_path() / ("accesses-" + hasher.hex() + ".json");
}

// Nothing when there is no file, or one that is damaged or of something else, which the next measurement replaces.
std::optional<profile::AccessProfile> find_stored(const std::filesystem::path& path, const graph::Graph& graph,
                                                  const memory::Machine& machine) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return std::nullopt;
  Result<profile::AccessProfile> stored = profile::read_access_profile(path, graph, machine);
  if (stored.ok()) return std::move(stored).value();
  spdlog::warn("{}; measuring again", stored.error().message);
  return std::nullopt;
}

// Every tensor on pages of its own, so that page counts are tensor counts, where that takes no more fast memory than
// the budget. Else small tensors go on sharing pages, which then count for each.
plan::Plan without_shared_pages(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan) {
  plan::Plan apart = plan::on_own_pages(graph, machine, plan);
  return apart.budgets.at(memory::kFastTier) > plan.budgets.at(memory::kFastTier) ? plan : apart;
}

Result<profile::AccessProfile> measure(train::Workload& workload, const memory::Machine& machine,
                                       const PlanChoice& choice, const AccessOptions& options) {
  const profile::Profile profile =
      train::estimated_profile(workload.graph(), machine);  // none of these planners looks at times
  Result<plan::Plan> planned = train::plan_workload(workload, machine, profile, choice.planner, choice.fast);
  if (!planned.ok()) {  // which ends the measuring
    return advised(workload, machine, profile, choice.planner, choice.fast, nullptr, planned.error());
  }
  const plan::Plan chosen = std::move(*planned);
  const plan::Plan plan = without_shared_pages(workload.graph(), machine, chosen);
  SLUICE_ASSIGN(const auto session, train::Session::create(workload, machine, plan, {}));
  std::int64_t step = 0;
  const measure::StepRunner run_next_step = [&]() -> Result<Seconds> {
    SLUICE_ASSIGN(const train::StepOutcome outcome, session->run_step(step++, kLearningRate));
    return outcome.trace.step_seconds;
  };
  SLUICE_ASSIGN(
      profile::AccessProfile accesses,
      measure::profile_accesses(session->executor(), workload.graph(), session->program(), machine,
                                {options.tlb_reach, options.largest_chunk, options.hardware_sampling}, run_next_step));
  accesses.notes.push_back(fmt::format("tensors placed by {}: {} of fast memory", plan.planner,
                                       format_bytes(plan.arena_bytes.at(memory::kFastTier))));
  return accesses;
}

}  // namespace

Result<profile::AccessProfile> measure_access_profile(train::Workload& workload, const memory::Machine& machine,
                                                      const train::FastBudget& fast, const AccessOptions& options,
                                                      profile::ProfileCache& cache) {
  SLUICE_RETURN_IF_ERROR(memory::check_on_host(machine, "counting accesses"));
  const graph::Graph& graph = workload.graph();
  SLUICE_ASSIGN(const PlanChoice choice, choose_plan(graph, machine, fast));
  const std::filesystem::path path = stored_profile_path(cache, graph, machine, choice, options);
  if (std::optional<profile::AccessProfile> stored = find_stored(path, graph, machine)) return *std::move(stored);
  SLUICE_ASSIGN(profile::AccessProfile measured, measure(workload, machine, choice, options));
  if (const Status saved = profile::write_access_profile(path, measured); !saved.ok())
    spdlog::warn(saved.error().message);
  return measured;
}

}  // namespace sluice::experiment

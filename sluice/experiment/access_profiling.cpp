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
#include "sluice/train/estimated_profile.hpp"
#include "sluice/train/planning_advice.hpp"
#include "sluice/train/session.hpp"

namespace sluice {
namespace {

constexpr float kLearningRate = 1e-3F;  // small, so that a model without warm-up stays finite for a few steps

bool has_addressable_slow_tier(const Machine& machine) {
  return std::any_of(machine.tiers.begin() + 1, machine.tiers.end(), [](const Tier& tier) { return tier.addressable; });
}

// The plan under which counting adds nothing to fast memory, see the header.
struct PlanChoice {
  std::string_view planner;
  FastBudget fast;
};

Result<PlanChoice> choose_plan(const Graph& graph, const Machine& machine, const FastBudget& fast) {
  if (has_addressable_slow_tier(machine)) return PlanChoice{"slow-only", {.all_ops = true}};
  const Bytes whole = fast_only_bytes(graph);
  const Bytes budget = fast.size ? fast.size->resolve(whole) : whole;
  if (budget >= whole) return PlanChoice{"fast-only", {.all_ops = true}};
  return PlanChoice{"on-demand", {fast.size, true, true}};
}

// Beside the profile cache. Everything that the counts depend on is in the name.
std::filesystem::path stored_profile_path(const ProfileCache& cache, const Graph& graph, const Machine& machine,
                                          const PlanChoice& plan, const AccessOptions& options) {
  Hasher hasher;
  hasher.add(std::string_view(graph.fingerprint())).add(std::string_view(machine.fingerprint())).add(plan.planner);
  const Bytes budget = plan.fast.size ? plan.fast.size->resolve(fast_only_bytes(graph)) : 0;
  hasher.add(budget).add(options.tlb_reach).add(options.largest_chunk).add(options.hardware_sampling);
  return cache.path().parent_path() / ("accesses-" + hasher.hex() + ".json");
}

// Nothing when there is no file, or a damaged one, which the next measurement replaces.
Result<std::optional<AccessProfile>> find_stored(const std::filesystem::path& path, const Graph& graph,
                                                 const Machine& machine) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return std::optional<AccessProfile>();
  Result<AccessProfile> stored = read_access_profile(path, graph, machine);
  if (stored.ok()) return std::optional(std::move(stored).value());
  if (stored.error().code == ErrorCode::kMismatch) return stored.error();
  spdlog::warn("{}; measuring again", stored.error().message);
  return std::optional<AccessProfile>();
}

// Every tensor on pages of its own, so that page counts are tensor counts, where that takes no more fast memory than
// the budget. Else small tensors go on sharing pages, which then count for each.
Plan without_shared_pages(const Graph& graph, const Machine& machine, const Plan& plan) {
  Plan apart = on_own_pages(graph, machine, plan);
  return apart.budgets.at(kFastTier) > plan.budgets.at(kFastTier) ? plan : apart;
}

Result<AccessProfile> measure(Workload& workload, const Machine& machine, const PlanChoice& choice,
                              const AccessOptions& options) {
  const Profile profile = estimated_profile(workload.graph(), machine);  // none of these planners looks at times
  Result<Plan> planned = plan_workload(workload, machine, profile, choice.planner, choice.fast);
  if (!planned.ok()) {  // which ends the measuring
    return advised(workload, machine, profile, choice.planner, choice.fast, nullptr, planned.error());
  }
  const Plan chosen = std::move(*planned);
  const Plan plan = without_shared_pages(workload.graph(), machine, chosen);
  SLUICE_ASSIGN(const auto session, Session::create(workload, machine, plan, {}));
  std::int64_t step = 0;
  const StepRunner run_next_step = [&]() -> Result<Seconds> {
    SLUICE_ASSIGN(const StepOutcome outcome, session->run_step(step++, kLearningRate));
    return outcome.trace.step_seconds;
  };
  SLUICE_ASSIGN(AccessProfile accesses,
                profile_accesses(session->executor(), workload.graph(), session->program(), machine,
                                 {options.tlb_reach, options.largest_chunk, options.hardware_sampling}, run_next_step));
  accesses.notes.push_back(fmt::format("tensors placed by {}: {} of fast memory", plan.planner,
                                       format_bytes(plan.arena_bytes.at(kFastTier))));
  return accesses;
}

}  // namespace

Result<AccessProfile> measure_access_profile(Workload& workload, const Machine& machine, const FastBudget& fast,
                                             const AccessOptions& options, ProfileCache& cache) {
  SLUICE_RETURN_IF_ERROR(check_on_host(machine, "counting accesses"));
  const Graph& graph = workload.graph();
  SLUICE_ASSIGN(const PlanChoice choice, choose_plan(graph, machine, fast));
  const std::filesystem::path path = stored_profile_path(cache, graph, machine, choice, options);
  SLUICE_ASSIGN(std::optional<AccessProfile> stored, find_stored(path, graph, machine));
  if (stored) return *std::move(stored);
  SLUICE_ASSIGN(AccessProfile measured, measure(workload, machine, choice, options));
  if (const Status saved = write_access_profile(path, measured); !saved.ok()) spdlog::warn(saved.error().message);
  return measured;
}

}  // namespace sluice

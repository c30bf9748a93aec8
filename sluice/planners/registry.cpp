#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "sluice/graph/choose.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/lower_bound.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/planner_name.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {

// A line for each planner, in the order of --help. NAME_planner() is defined in the planner's own file.
#define SLUICE_PLANNERS(entry)                                                                                       \
  entry(fast_only) entry(slow_only) entry(first_touch) entry(on_demand) entry(sentinel) entry(redl) entry(chen_sqrt) \
      entry(deferred_updates) entry(kernel_choice) entry(vdnn) entry(superneurons) entry(capuchin) entry(home)       \
          entry(l2l) entry(swapadvisor) entry(autotm_static) entry(autotm_sync) entry(autotm_async) entry(checkmate) \
              entry(zero_offload) entry(joint)

#define SLUICE_DECLARE_PLANNER(name) PlannerEntry name##_planner();
SLUICE_PLANNERS(SLUICE_DECLARE_PLANNER)

namespace {

Machine one_tier_machine() {
  Machine machine;
  machine.tiers.push_back({.name = "fast", .capacity = Bytes{1} << 62});
  return machine;
}

// Whether no plan at all can have an op's operands in the fast tier, where they must be.
bool has_op_too_large(const PlannerEntry& entry, const PlanRequest& request) {
  const std::vector<Tier>& tiers = request.machine.tiers;
  const bool others_do = std::any_of(tiers.begin() + 1, tiers.end(), std::mem_fn(&Tier::addressable));
  if (others_do || gives_ops_to_processors(entry, request.additions) ||
      chooses_implementations(entry, request.additions)) {
    return false;
  }
  return largest_working_set(request.graph) > request.budgets[kFastTier];
}

// The smallest fast budget, to about one per cent, for which the planner finds a plan. It must find one for
// fast_only_bytes().
Bytes smallest_feasible(const PlannerEntry& entry, PlanRequest request) {
  Bytes low = 0;  // an op may have kernels that need less than the graph's own
  Bytes high = fast_only_bytes(request.graph);
  request.draft = true;
  request.watch = nullptr;  // nothing follows from a draft that was interrupted
  while (high - low > std::max<Bytes>(high / 100, kMiB)) {
    request.budgets[kFastTier] = align_down(low + (high - low) / 2, kBlockAlignment);
    const bool enough = !has_op_too_large(entry, request) && entry.plan(request).ok();
    (enough ? high : low) = request.budgets[kFastTier];
  }
  return high;
}

PlanRequest with_settings(PlanRequest request, const ChosenPlanner& chosen) {
  request.additions = chosen.additions;
  request.settings = chosen.settings;
  return request;
}

// Whether the planner could do with the fast budget if slow tiers had no end.
bool slow_tiers_are_full(const PlannerEntry& entry, PlanRequest request) {
  constexpr Bytes kEndless = Bytes{1} << 50;
  std::fill(request.budgets.begin() + kFastTier + 1, request.budgets.end(), kEndless);
  request.draft = true;
  return request.budgets.size() > 1 && entry.plan(request).ok();
}

// `why`: in the planner's words, with what it knows of the tier that is too small.
Error explain_full_slow_tiers(const PlannerEntry& entry, const PlanRequest& request, const Error& why) {
  std::vector<std::string> tiers;
  for (std::size_t i = kFastTier + 1; i < request.budgets.size(); ++i) {
    tiers.push_back(fmt::format("{} with {}", request.machine.tiers[i].name, format_bytes(request.budgets[i])));
  }
  return {
      ErrorCode::kInfeasible,
      fmt::format("{} cannot train {} in {} of fast memory: the slow tiers fill up ({}). Give one more room, name a "
                  "further one with --slow, or raise --fast ({})",
                  entry.name, request.graph.name, format_bytes(request.budgets[kFastTier]), fmt::join(tiers, ", "),
                  why.message),
      why.requested_bytes, why.available_bytes};
}

// For each op the implementation with the smallest workspace, and the processor it has.
std::vector<OpChoice> leanest_choices(const Graph& graph) {
  std::vector<OpChoice> choices;
  for (const Op& op : graph.ops()) {
    const auto least = std::ranges::min_element(op.implementations, {}, &Implementation::workspace_bytes);
    const bool any = least != op.implementations.end();
    choices.push_back({any ? static_cast<std::int32_t>(least - op.implementations.begin()) : 0, op.processor});
  }
  return choices;
}

// What other kernels would bring, if anything: ops keep the fastest ones, whose workspaces may be larger than their data.
std::string advise_kernel_choice(const PlannerEntry& entry, const PlanRequest& request, Bytes smallest) {
  if (entry.chooses_implementations) return "";
  const std::vector<OpChoice> leanest = leanest_choices(request.graph);
  if (is_own_choice(request.graph, leanest)) return "";
  PlanRequest leaner = request;
  leaner.choices = leanest;
  const Result<Bytes> bytes = smallest_feasible_bytes(entry.name, leaner);
  if (!bytes.ok() || *bytes >= smallest) return "";
  return fmt::format(", or choose kernels with smaller workspaces (--planner kernel-choice): {} is enough with them",
                     format_bytes(*bytes));
}

// Says which op is the bottleneck, the smallest budget that works, and what else would help. `why`: what the planner said.
Error explain_infeasible(const PlannerEntry& entry, PlanRequest request, const Error& why) {
  request.watch = nullptr;  // whoever ended the search wants to know why there is no plan
  if (!has_op_too_large(entry, request) && slow_tiers_are_full(entry, request)) {
    return explain_full_slow_tiers(entry, request, why);
  }
  OpIndex op = 0;
  const Bytes working_set = largest_working_set(request.graph, &op);
  const Bytes whole = fast_only_bytes(request.graph);
  PlanRequest with_all = request;
  with_all.budgets[kFastTier] = whole;
  if (const Result<Plan> plan = entry.plan(with_all); !plan.ok()) {
    return slow_tiers_are_full(entry, with_all) ? explain_full_slow_tiers(entry, with_all, plan.error()) : plan.error();
  }
  const Bytes smallest = smallest_feasible(entry, request);
  return {ErrorCode::kInfeasible,
          fmt::format("{} cannot train {} in {} of fast memory; the smallest budget it can use is {} ({:.1f} % of the "
                      "{} that everything takes). The largest op, {}, needs {} for its operands alone{}. Raise "
                      "--fast, or make the batch smaller{}",
                      entry.name, request.graph.name, format_bytes(request.budgets[kFastTier]), format_bytes(smallest),
                      100.0 * static_cast<double>(smallest) / static_cast<double>(whole), format_bytes(whole),
                      request.graph.op(op).name, format_bytes(working_set),
                      request.graph.op(op).implementations.size() > 1 ? " with the kernel that it usually has" : "",
                      advise_kernel_choice(entry, request, smallest)),
          smallest, request.budgets[kFastTier]};
}

// Whether ops are to run otherwise than the graph says.
bool reschedules(const PlanRequest& request) {
  const bool chooses = !request.choices.empty() && !is_own_choice(request.graph, request.choices);
  return chooses || !request.schedule.empty();
}

// Other planners have every operand in the fast tier sooner or later.
Status check_processors(const PlannerEntry& entry, const PlanRequest& request) {
  if (entry.gives_ops_to_processors) return {};
  for (const Op& op : request.graph.ops()) {
    if (request.machine.addresses(op.processor, kFastTier)) continue;
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} cannot give {} to processor '{}', which cannot use tier {} in place: add that to its tiers",
                    entry.name, op.name, request.machine.processors[static_cast<std::size_t>(op.processor)].name,
                    request.machine.tier(kFastTier).name)};
  }
  return {};
}

}  // namespace

#define SLUICE_CALL_PLANNER(name) name##_planner(),
const std::vector<PlannerEntry>& planners() {
  static const std::vector<PlannerEntry> table{SLUICE_PLANNERS(SLUICE_CALL_PLANNER)};
  return table;
}

Result<Plan> make_plan(std::string_view planner, const PlanRequest& request) {
  if (reschedules(request)) {
    const RescheduledRequest chosen(request);
    SLUICE_ASSIGN(Plan plan, make_plan(planner, chosen.request()));
    return finish_plan(planner, request, chosen.for_given_graph(std::move(plan)));
  }
  SLUICE_ASSIGN(const ChosenPlanner chosen, choose_planner(planner));
  const PlanRequest asked = with_settings(request, chosen);
  SLUICE_RETURN_IF_ERROR(check_processors(*chosen.entry, asked));
  if (has_op_too_large(*chosen.entry, asked)) return explain_infeasible(*chosen.entry, asked, {});
  Result<Plan> result = chosen.entry->plan(asked);
  if (!result.ok()) {
    if (result.error().code != ErrorCode::kInfeasible) return result;
    return explain_infeasible(*chosen.entry, asked, result.error());
  }
  return finish_plan(planner, request, std::move(result).value());
}

Result<std::unique_ptr<PlanSearch>> make_search(std::string_view planner, const PlanRequest& request) {
  if (reschedules(request)) {
    auto chosen = std::make_shared<const RescheduledRequest>(request);
    SLUICE_ASSIGN(auto search, make_search(planner, chosen->request()));
    if (search == nullptr) return search;
    return std::unique_ptr<PlanSearch>(std::make_unique<RescheduledSearch>(std::move(chosen), std::move(search)));
  }
  SLUICE_ASSIGN(const ChosenPlanner chosen, choose_planner(planner));
  if (!chosen.entry->search) return std::unique_ptr<PlanSearch>();
  SLUICE_RETURN_IF_ERROR(check_processors(*chosen.entry, request));
  return chosen.entry->search(with_settings(request, chosen));
}

Seconds simulated_seconds(const PlanRequest& request, const Plan& plan) {
  const Program program = lower_plan(request.graph, request.machine, plan).value();
  const PlanCosts costs(request.graph, request.profile, request.machine, plan);
  return simulate(program, costs.costs()).step_seconds;
}

Plan finish_plan(std::string_view planner, const PlanRequest& request, Plan plan) {
  plan.planner = planner;
  plan.predicted_step_seconds = simulated_seconds(request, plan);
  const PlanCosts costs(request.graph, request.profile, request.machine, plan);
  plan.order_bound_seconds =
      step_lower_bound(costs.graph(), costs.costs(), request.machine, request.budgets, staging_bytes(plan) > 0);
  return plan;
}

Result<Bytes> smallest_feasible_bytes(std::string_view planner, const PlanRequest& request) {
  if (reschedules(request)) return smallest_feasible_bytes(planner, RescheduledRequest(request).request());
  SLUICE_ASSIGN(const ChosenPlanner chosen, choose_planner(planner));
  PlanRequest asked = with_settings(request, chosen);
  asked.budgets[kFastTier] = fast_only_bytes(request.graph);
  SLUICE_RETURN_IF_ERROR(chosen.entry->plan(asked));
  return smallest_feasible(*chosen.entry, asked);
}

Bytes fast_only_bytes(const Graph& graph) {
  const Machine machine = one_tier_machine();
  const Profile nothing;
  const PlanRequest request{graph, nothing, machine, {machine.tiers.front().capacity}};
  return find_planner(kBaselinePlanner)->plan(request).value().arena_bytes.front();
}

}  // namespace sluice

#include "sluice/planners/registry/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/graph/choose.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {
namespace {

// Whether the planner could do with the fast budget if slow tiers had no end.
bool slow_tiers_are_full(const ChosenPlanner& planner, PlanRequest request) {
  constexpr Bytes kEndless = Bytes{1} << 50;
  std::fill(request.budgets.begin() + memory::kFastTier + 1, request.budgets.end(), kEndless);
  request.draft = true;
  return request.budgets.size() > 1 && planner.entry->plan(request).ok();
}

// `why`: in the planner's words, with what it knows of the tier that is too small.
Error explain_full_slow_tiers(const ChosenPlanner& planner, const PlanRequest& request, const Error& why) {
  std::vector<std::string> tiers;
  for (std::size_t i = memory::kFastTier + 1; i < request.budgets.size(); ++i) {
    tiers.push_back(fmt::format("{} with {}", request.machine.tiers[i].name, format_bytes(request.budgets[i])));
  }
  return {
      why.code,
      fmt::format("{} cannot train {} in {} of fast memory: the slow tiers fill up ({}). Give one more room, name a "
                  "further one with --slow, or raise --fast ({})",
                  planner.entry->name, request.graph.name, format_bytes(request.budgets[memory::kFastTier]),
                  fmt::join(tiers, ", "), why.message),
      why.requested_bytes, why.available_bytes};
}

// For each op the implementation with the smallest workspace, and the processor it has.
std::vector<graph::OpChoice> leanest_choices(const graph::Graph& graph) {
  std::vector<graph::OpChoice> choices;
  for (const graph::Op& op : graph.ops()) {
    const auto least = std::ranges::min_element(op.implementations, {}, &graph::Implementation::workspace_bytes);
    const bool any = least != op.implementations.end();
    choices.push_back({any ? static_cast<std::int32_t>(least - op.implementations.begin()) : 0, op.processor});
  }
  return choices;
}

// What other kernels would bring, if anything: ops keep the fastest ones, whose workspaces may be larger than their data.
std::string advise_kernel_choice(const ChosenPlanner& planner, const PlanRequest& request, Bytes smallest) {
  if (planner.entry->chooses_implementations) return "";
  const std::vector<graph::OpChoice> leanest = leanest_choices(request.graph);
  if (graph::is_own_choice(request.graph, leanest)) return "";
  PlanRequest leaner = request;
  leaner.choices = leanest;
  const Result<Bytes> bytes = smallest_feasible_bytes(planner, leaner);
  if (!bytes.ok() || *bytes >= smallest) return "";
  return fmt::format(", or choose kernels with smaller workspaces (--planner kernel-choice): {} is enough with them",
                     format_bytes(*bytes));
}

Error too_small(const ChosenPlanner& planner, const PlanRequest& request, Bytes smallest, ErrorCode code) {
  graph::OpIndex op = 0;
  const Bytes working_set = plan::largest_working_set(request.graph, &op);
  const Bytes whole = fast_only_bytes(request.graph);
  return {code,
          fmt::format("{} cannot train {} in {} of fast memory; the smallest budget it can use is {} ({:.1f} % of the "
                      "{} that everything takes). The largest op, {}, needs {} for its operands alone{}. Raise "
                      "--fast, or make the batch smaller{}",
                      planner.entry->name, request.graph.name, format_bytes(request.budgets[memory::kFastTier]),
                      format_bytes(smallest), 100.0 * static_cast<double>(smallest) / static_cast<double>(whole),
                      format_bytes(whole), request.graph.op(op).name, format_bytes(working_set),
                      request.graph.op(op).implementations.size() > 1 ? " with the kernel that it usually has" : "",
                      advise_kernel_choice(planner, request, smallest)),
          smallest, request.budgets[memory::kFastTier]};
}

}  // namespace

Error advised(const ChosenPlanner& planner, const PlanRequest& request, const Error& why) {
  if (!wants_more_room(why.code)) return why;
  if (reschedules(request)) return advised(planner, RescheduledRequest(request).request(), why);
  PlanRequest asked = with_settings(request, planner);
  asked.watch = nullptr;  // whoever ended the search wants to know why there is no plan
  if (!has_op_too_large(planner, asked) && slow_tiers_are_full(planner, asked)) {
    return explain_full_slow_tiers(planner, asked, why);
  }
  const Result<Bytes> smallest = smallest_feasible_bytes(planner, asked);
  if (smallest.ok()) return too_small(planner, asked, *smallest, why.code);
  asked.budgets[memory::kFastTier] = fast_only_bytes(asked.graph);  // not even with that
  return slow_tiers_are_full(planner, asked) ? explain_full_slow_tiers(planner, asked, smallest.error())
                                             : smallest.error();
}

Error advised(std::string_view planner, const PlanRequest& request, const Error& why) {
  const Result<ChosenPlanner> chosen = choose_planner(planner);
  return chosen.ok() ? advised(*chosen, request, why) : chosen.error();
}

}  // namespace sluice::planners

#include "sluice/planners/joint/on_processors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/planners/interruption.hpp"
#include "sluice/planners/rescheduled_request.hpp"

namespace sluice::planners {
namespace {

// Of parameters that a host updates, in per cent; and of layers between activations that are kept, a Transformer's.
constexpr std::array kShares{100, 75, 50, 25};
constexpr std::array kCheckpoints{0, 7};

struct PlanOnProcessors {
  TimedPlan timed;
  std::string by;  // "zero-offload:checkpoints=0:share=50", "updates on second"
};

std::vector<graph::OpChoice> updates_on(ProcessorId processor, const graph::Graph& graph) {
  std::vector<graph::OpChoice> choices;
  for (const graph::Op& op : graph.ops()) {
    const bool has_kernel = std::ranges::find(op.no_kernel_on, processor) == op.no_kernel_on.end();
    choices.push_back({0, op.phase == graph::Phase::kUpdate && has_kernel ? processor : op.processor});
  }
  return choices;
}

Result<TimedPlan> plan_updates_on(ProcessorId processor, const PlanRequest& request,
                                  const std::function<Result<TimedPlan>(const PlanRequest&)>& plan) {
  PlanRequest asked = request;
  asked.choices = updates_on(processor, request.graph);
  const RescheduledRequest chosen(asked);
  SLUICE_ASSIGN(TimedPlan made, plan(chosen.request()));
  made.plan = chosen.for_given_graph(std::move(made.plan));
  made.seconds = simulated_seconds(request, made.plan);
  return made;
}

void add_if_any(Result<TimedPlan> plan, std::string by, std::vector<PlanOnProcessors>& found) {
  if (plan.ok()) found.push_back({std::move(plan).value(), std::move(by)});
}

// All that there are in the request's budgets.
std::vector<PlanOnProcessors> plans_on_processors(const PlanRequest& request,
                                                  const std::function<Result<TimedPlan>(const PlanRequest&)>& plan) {
  std::vector<PlanOnProcessors> found;
  const auto processors = as_id<ProcessorId>(request.machine.processor_count());
  for (ProcessorId id = 1; id < processors && !request.stopped(); ++id) {
    if (!request.machine.addresses(id, memory::kFastTier)) continue;
    const std::string& name = request.machine.processors[as_index(id)].name;
    add_if_any(plan_updates_on(id, request, plan), "updates on " + name, found);
  }
  for (const int checkpoints : kCheckpoints) {
    for (const int share : kShares) {
      if (processors == 1 || request.stopped()) return found;
      const std::string name = fmt::format("zero-offload:checkpoints={}:share={}", checkpoints, share);
      add_if_any(plan_by(name, request), name, found);
    }
  }
  return found;
}

// "24 of 58 updates on others, by zero-offload:checkpoints=0:share=50: 1.23 times as fast as on the main one alone".
std::string describe(const PlanRequest& request, const PlanOnProcessors& taken, const Result<TimedPlan>& own) {
  const plan::Plan& plan = taken.timed.plan;
  std::int64_t updates = 0, elsewhere = 0;
  for (std::size_t slot = 0; slot < plan.ops.size(); ++slot) {
    const std::size_t op = plan.schedule.empty() ? slot : as_index(plan.schedule[slot]);
    if (!graph::is_update(request.graph.op(as_id<graph::OpIndex>(op)).kind)) continue;
    ++updates;
    elsewhere += plan.ops[slot].processor != kMainProcessor ? 1 : 0;
  }
  const std::string gain =
      own.ok() ? fmt::format("{:.2f} times as fast as on the main one alone", own->seconds / taken.timed.seconds)
               : "on the main one alone nothing fits";
  return fmt::format("{} of {} updates on others, by {}: {}", elsewhere, updates, taken.by, gain);
}

}  // namespace

Result<TimedPlan> fastest_on_processors(const PlanRequest& request, Result<TimedPlan> own,
                                        const std::function<Result<TimedPlan>(const PlanRequest&)>& plan) {
  std::vector<PlanOnProcessors> others = plans_on_processors(request, plan);
  const auto fastest =
      std::ranges::min_element(others, {}, [](const PlanOnProcessors& each) { return each.timed.seconds; });
  const bool none = fastest == others.end();
  if (none && !own.ok()) return request.stopped() ? ended_before_a_plan("joint", request) : own.error();
  const bool worth = !none && (!own.ok() || fastest->timed.seconds <= kWorthMoreTraffic * own->seconds);
  const std::string taken = worth ? describe(request, *fastest, own) : "all updates on the main one";
  TimedPlan best = worth ? std::move(fastest->timed) : std::move(own).value();
  best.plan.planner_config.emplace_back("processors", taken);
  if (request.stopped()) note_interruption(best.plan, "the best of who may update until then");
  return best;
}

}  // namespace sluice::planners

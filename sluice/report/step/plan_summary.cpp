#include "sluice/report/step/plan_summary.hpp"

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/data/input_tensors.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/tier_contents.hpp"

namespace sluice::report {

PlanTraffic plan_traffic(const graph::Graph& graph, const plan::Plan& plan) {
  PlanTraffic traffic;
  const std::vector<plan::Room> rooms = plan::residency_rooms(plan::PlanGraph(graph, plan).graph(), plan);
  for (const plan::Migration& migration : plan.migrations) {
    const Bytes bytes = rooms.at(as_index(migration.from)).bytes;
    const memory::TierId from = plan.residencies.at(as_index(migration.from)).tier;
    const memory::TierId to = plan.residencies.at(as_index(migration.to)).tier;
    if (to == memory::kFastTier) traffic.in += bytes;
    if (from == memory::kFastTier) traffic.out += bytes;
  }
  return traffic;
}

ScheduleCounts count_schedule(const graph::Graph& graph, const plan::Plan& plan) {
  ScheduleCounts counts;
  if (plan.schedule.empty()) return counts;
  std::set<graph::OpIndex> ran;
  graph::OpIndex furthest = -1;
  for (const graph::OpIndex op : plan.schedule) {
    const bool first = ran.insert(op).second;
    (first ? counts.later : counts.again) += !first || op < furthest ? 1 : 0;
    furthest = std::max(furthest, op);
  }
  counts.left_out = graph.op_count() - std::ssize(ran);
  return counts;
}

std::optional<Loss> predicted_loss(const plan::Plan& plan, std::optional<Seconds> baseline) {
  if (!baseline) return std::nullopt;
  return Loss{plan.predicted_step_seconds / *baseline - 1, "predicted"};
}

nlohmann::json noise_json(const sim::Noise& noise, const sim::NoisyStep& step) {
  return {{"op", noise.op},           {"compute", noise.compute},       {"link", noise.link},
          {"samples", noise.samples}, {"median_ms", step.median * 1e3}, {"percentile_90_ms", step.percentile_90 * 1e3}};
}

nlohmann::json worth_json(const graph::Graph& graph, const plan::Plan& plan, const planners::Worth& worth) {
  const plan::PlanGraph step(graph, plan);
  nlohmann::json names = nlohmann::json::array();
  for (const graph::OpIndex op : worth.dearest) names.push_back(step.graph().op(op).name);
  return {{"ms_per_mib", worth.per_mib * 1e3},
          {"ms_for_links_a_tenth_faster", worth.per_tenth_of_speed * 1e3},
          {"dearest_ops", names},
          {"dearest_share", worth.dearest_share}};
}

nlohmann::json plan_summary_json(const graph::Graph& graph, const memory::Machine& machine, const policies::Run& run,
                                 std::optional<Seconds> baseline) {
  const plan::Plan& plan = policies::plan_of(run);
  // Of a policy nobody says where tensors are.
  const std::vector<TierContents> contents =
      policies::is_planned(run) ? tier_contents(graph, plan) : std::vector<TierContents>();
  const PlanTraffic traffic = plan_traffic(graph, plan);
  nlohmann::json document{{"run", run_record(machine)},
                          {"model", graph.name},
                          {"batch", data::batch_size(graph)},
                          {"planner", plan.planner},
                          {"planner_config", plan.planner_config},
                          {"fast_only_bytes", planners::fast_only_bytes(graph)},
                          {"budgets", plan.budgets},
                          {"asked_budget_bytes", plan.raised_from.value_or(plan.budgets.at(0))},
                          {"arena_bytes", plan.arena_bytes},
                          {"contents", contents_json(machine, contents)},
                          {"fast_arena_bytes", policies::fast_arena_bytes(run)},
                          {"migrations", plan.migrations.size()},
                          {"ops_by_other_kernels", plan::count_choices(plan).other_kernels},
                          {"ops_on_other_processors", plan::count_choices(plan).other_processors},
                          {"bytes_in", traffic.in},
                          {"bytes_out", traffic.out},
                          {"predicted_ms", plan.predicted_step_seconds * 1e3},
                          {"lower_bound_ms", plan.lower_bound_seconds * 1e3},
                          {"order_bound_ms", plan.order_bound_seconds * 1e3},
                          {"certified", plan.any_order_prices.has_value() || plan.prices.has_value()}};
  const ScheduleCounts counts = count_schedule(graph, plan);
  document["ops_left_out"] = counts.left_out;
  document["ops_later"] = counts.later;
  document["ops_again"] = counts.again;
  const auto loss = predicted_loss(plan, baseline);
  if (loss) document["predicted_loss"] = loss->share;
  if (!bound_applies(plan)) return document;
  const graph::FastMemoryBound bound = bound_of(graph);
  document["fast_memory_bound"] = bound_json(graph, bound);
  document["below_fast_memory_bound"] = plan.budgets.at(0) < bound.bytes();
  return document;
}

nlohmann::json prediction_json(const experiment::StepPrediction& prediction) {
  return {{"predicted_ms", prediction.timeline.step_seconds * 1e3},
          {"stall_ms", prediction.timeline.stall_seconds * 1e3},
          {"locality", sim::locality_json(prediction.locality)},
          {"parts_ms", prediction.parts ? sim::breakdown_json(*prediction.parts) : nlohmann::json()}};
}

}  // namespace sluice::report

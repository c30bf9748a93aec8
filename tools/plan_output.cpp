#include "tools/plan_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sluice/data/input_tensors.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/report/bound_note.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/tier_contents.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/planning.hpp"
#include "sluice/train/policy_run.hpp"

namespace sluice {
namespace {

std::optional<Loss> predicted_loss(const Plan& plan, std::optional<Seconds> baseline) {
  if (!baseline) return std::nullopt;
  return Loss{plan.predicted_step_seconds / *baseline - 1, "predicted"};
}

// "1.26 s: at most 7.2 % from the best that moving tensors could do in this order".
std::string describe_gap(Seconds predicted, Seconds bound, std::string_view best) {
  const std::string seconds = format_seconds(bound);
  if (bound <= 0) return seconds;
  const double gap = predicted / bound - 1;
  if (gap < -1e-6) return seconds + ": above the prediction, so one of the two is of another machine or profile";
  return fmt::format("{}: at most {:.1f} % from the best {}", seconds, 100 * std::max(0.0, gap), best);
}

void add_bounds(const Plan& plan, std::vector<std::pair<std::string, std::string>>& fields) {
  if (plan.policy) return;
  const Seconds predicted = plan.predicted_step_seconds;
  if (plan.lower_bound_seconds > 0) {
    fields.emplace_back("lower bound", describe_gap(predicted, plan.lower_bound_seconds,
                                                    "possible, in any order, with anything made again"));
  }
  fields.emplace_back("in this order",
                      describe_gap(predicted, plan.order_bound_seconds, "that moving tensors could do"));
}

struct ScheduleCounts {
  std::int64_t left_out = 0;  // ops: what they make again is kept instead
  std::int64_t later = 0;     // ops that run later than in the graph's order
  std::int64_t again = 0;     // executions beyond the first of an op
};

ScheduleCounts count_schedule(const Graph& graph, const Plan& plan) {
  ScheduleCounts counts;
  if (plan.schedule.empty()) return counts;
  std::set<OpIndex> ran;
  OpIndex furthest = -1;
  for (const OpIndex op : plan.schedule) {
    const bool first = ran.insert(op).second;
    (first ? counts.later : counts.again) += !first || op < furthest ? 1 : 0;
    furthest = std::max(furthest, op);
  }
  counts.left_out = graph.op_count() - static_cast<std::int64_t>(ran.size());
  return counts;
}

// "771 ops: 71 left out, whose results are kept instead, 5 run again".
std::string describe_schedule(const Graph& graph, const Plan& plan) {
  const ScheduleCounts counts = count_schedule(graph, plan);
  std::vector<std::string> parts;
  if (counts.left_out > 0) parts.push_back(fmt::format("{} left out, whose results are kept instead", counts.left_out));
  if (counts.later > 0) parts.push_back(fmt::format("{} later than in the model's order", counts.later));
  if (counts.again > 0) parts.push_back(fmt::format("{} run again", counts.again));
  return fmt::format("{} ops: {}", plan.schedule.size(), fmt::join(parts, ", "));
}

// Above 100 %, what is made again otherwise is kept.
std::string describe_share(Bytes budget, Bytes whole) {
  const double share = 100 * static_cast<double>(budget) / static_cast<double>(whole);
  return fmt::format("{:.1f} % of {}", share, budget > whole ? "the least that holds everything" : "everything");
}

}  // namespace

PlanTraffic plan_traffic(const Graph& graph, const Plan& plan) {
  PlanTraffic traffic;
  const std::vector<Room> rooms = residency_rooms(PlanGraph(graph, plan).graph(), plan);
  for (const Migration& migration : plan.migrations) {
    const Bytes bytes = rooms.at(static_cast<std::size_t>(migration.from)).bytes;
    const TierId from = plan.residencies.at(static_cast<std::size_t>(migration.from)).tier;
    const TierId to = plan.residencies.at(static_cast<std::size_t>(migration.to)).tier;
    (to < from ? traffic.in : traffic.out) += bytes;
  }
  return traffic;
}

std::string describe_plan(const Graph& graph, const Machine& machine, const Plan& plan,
                          std::optional<Seconds> baseline) {
  std::vector<std::pair<std::string, std::string>> fields;
  fields.emplace_back("fast arena", fmt::format("{} of a budget of {} ({})", format_bytes(plan.arena_bytes[0]),
                                                format_bytes(plan.budgets[0]),
                                                describe_share(plan.budgets[0], fast_only_bytes(graph))));
  if (const auto asked = plan.raised_from) {
    fields.emplace_back(
        "raised", fmt::format("from the {} asked for, which {} cannot do with", format_bytes(*asked), plan.planner));
  }
  for (std::size_t tier = 1; tier < plan.arena_bytes.size(); ++tier) {
    const Tier& each = machine.tiers.at(tier);
    fields.emplace_back(fmt::format("{} arena", each.name), fmt::format("{}{}", format_bytes(plan.arena_bytes[tier]),
                                                                        each.emulated() ? " (emulated)" : ""));
  }
  for (const TierContents& each : tier_contents(graph, plan)) {
    fields.emplace_back(fmt::format("{} holds", each.tier == kFastTier ? "fast" : machine.tier(each.tier).name),
                        describe_contents(each));
  }
  const PlanTraffic traffic = plan_traffic(graph, plan);
  fields.emplace_back("migrations", fmt::format("{} a step: {} out, {} in", plan.migrations.size(),
                                                format_bytes(traffic.out), format_bytes(traffic.in)));
  if (!plan.schedule.empty()) fields.emplace_back("schedule", describe_schedule(graph, plan));
  if (std::string choices = describe_choices(plan); !choices.empty())
    fields.emplace_back("choices", std::move(choices));
  fields.emplace_back("predicted step", format_seconds(plan.predicted_step_seconds));
  add_bounds(plan, fields);
  std::string below_bound;
  if (bound_applies(plan)) {
    const FastMemoryBound bound = bound_of(graph);
    fields.emplace_back("bound on fast", describe_bound(graph, bound));
    const auto why = explain_below_bound(bound, plan.budgets[0], predicted_loss(plan, baseline));
    if (why) below_bound = format_item(*why);
  }
  return fmt::format("plan by {} ({}){}\n{}{}", plan.planner, plan.solver_status,
                     is_emulated(machine) ? ", " + emulation_note(machine) : "", format_fields(fields), below_bound);
}

std::string describe_worth(const Graph& graph, const Plan& plan, const Worth& worth) {
  if (worth.per_mib <= 0) return "";
  const Seconds per_hundredth = worth.per_mib * static_cast<double>(plan.budgets[0]) / 100 / kMiB;
  std::vector<std::pair<std::string, std::string>> fields;
  fields.emplace_back("1 % more memory",
                      fmt::format("{} of the fast tier save up to {} a step", format_bytes(plan.budgets[0] / 100),
                                  format_seconds(per_hundredth)));
  fields.emplace_back("links a tenth faster", fmt::format("save up to {}", format_seconds(worth.per_tenth_of_speed)));
  const PlanGraph step(graph, plan);
  std::vector<std::string> names;
  for (const OpIndex op : worth.dearest) names.push_back(step.graph().op(op).name);
  fields.emplace_back("memory is worth most", fmt::format("while {} run{} ({:.0f} % of it)", fmt::join(names, ", "),
                                                          names.size() == 1 ? "s" : "", 100 * worth.dearest_share));
  return "what more would be worth, at the bound's prices\n" + format_fields(fields);
}

nlohmann::json worth_json(const Graph& graph, const Plan& plan, const Worth& worth) {
  const PlanGraph step(graph, plan);
  nlohmann::json names = nlohmann::json::array();
  for (const OpIndex op : worth.dearest) names.push_back(step.graph().op(op).name);
  return {{"ms_per_mib", worth.per_mib * 1e3},
          {"ms_for_links_a_tenth_faster", worth.per_tenth_of_speed * 1e3},
          {"dearest_ops", names},
          {"dearest_share", worth.dearest_share}};
}

std::string describe_noise(const Noise& noise, const NoisyStep& step) {
  return fmt::format("when each op varies by {:.0f} %, all of them by {:.0f} % and links by {:.0f} %\n{}",
                     100 * noise.op, 100 * noise.compute, 100 * noise.link,
                     format_fields({{"median step", format_seconds(step.median)},
                                    {"nine of ten steps", "at most " + format_seconds(step.percentile_90)}}));
}

nlohmann::json noise_json(const Noise& noise, const NoisyStep& step) {
  return {{"op", noise.op},           {"compute", noise.compute},       {"link", noise.link},
          {"samples", noise.samples}, {"median_ms", step.median * 1e3}, {"percentile_90_ms", step.percentile_90 * 1e3}};
}

nlohmann::json plan_summary_json(const Graph& graph, const Machine& machine, const Plan& plan,
                                 std::optional<Seconds> baseline) {
  const PlanTraffic traffic = plan_traffic(graph, plan);
  nlohmann::json document{{"run", run_record(machine)},
                          {"model", graph.name},
                          {"batch", batch_size(graph)},
                          {"planner", plan.planner},
                          {"planner_config", plan.planner_config},
                          {"fast_only_bytes", fast_only_bytes(graph)},
                          {"budgets", plan.budgets},
                          {"asked_budget_bytes", plan.raised_from.value_or(plan.budgets.at(0))},
                          {"arena_bytes", plan.arena_bytes},
                          {"contents", contents_json(machine, tier_contents(graph, plan))},
                          {"fast_arena_bytes", fast_arena_bytes(plan)},
                          {"migrations", plan.migrations.size()},
                          {"ops_by_other_kernels", count_choices(plan).other_kernels},
                          {"ops_on_other_processors", count_choices(plan).other_processors},
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
  const FastMemoryBound bound = bound_of(graph);
  document["fast_memory_bound"] = bound_json(graph, bound);
  document["below_fast_memory_bound"] = plan.budgets.at(0) < bound.bytes();
  return document;
}

}  // namespace sluice

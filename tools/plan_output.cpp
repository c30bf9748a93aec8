#include "tools/plan_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/report/bound_note.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/plan_summary.hpp"
#include "sluice/report/step/tier_contents.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::cli {
namespace {

// "1.26 s: at most 7.2 % from the best that moving tensors could do in this order".
std::string describe_gap(Seconds predicted, Seconds bound, std::string_view best) {
  const std::string seconds = format_seconds(bound);
  if (bound <= 0) return seconds;
  const double gap = predicted / bound - 1;
  if (gap < -1e-6) return seconds + ": above the prediction, so one of the two is of another machine or profile";
  return fmt::format("{}: at most {:.1f} % from the best {}", seconds, 100 * std::max(0.0, gap), best);
}

void add_bounds(const plan::Plan& plan, std::vector<std::pair<std::string, std::string>>& fields) {
  const Seconds predicted = plan.predicted_step_seconds;
  if (plan.lower_bound_seconds > 0) {
    fields.emplace_back("lower bound", describe_gap(predicted, plan.lower_bound_seconds,
                                                    "possible, in any order, with anything made again"));
  }
  fields.emplace_back("in this order",
                      describe_gap(predicted, plan.order_bound_seconds, "that moving tensors could do"));
}

// "771 ops: 71 left out, whose results are kept instead, 5 run again".
std::string describe_schedule(const graph::Graph& graph, const plan::Plan& plan) {
  const report::ScheduleCounts counts = report::count_schedule(graph, plan);
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

std::string describe_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan,
                          std::optional<Seconds> baseline) {
  std::vector<std::pair<std::string, std::string>> fields;
  fields.emplace_back("fast arena", fmt::format("{} of a budget of {} ({})", format_bytes(plan.arena_bytes[0]),
                                                format_bytes(plan.budgets[0]),
                                                describe_share(plan.budgets[0], planners::fast_only_bytes(graph))));
  if (const auto asked = plan.raised_from) {
    fields.emplace_back(
        "raised", fmt::format("from the {} asked for, which {} cannot do with", format_bytes(*asked), plan.planner));
  }
  for (std::size_t tier = 1; tier < plan.arena_bytes.size(); ++tier) {
    const memory::Tier& each = machine.tiers.at(tier);
    fields.emplace_back(fmt::format("{} arena", each.name), fmt::format("{}{}", format_bytes(plan.arena_bytes[tier]),
                                                                        each.emulated() ? " (emulated)" : ""));
  }
  for (const report::TierContents& each : report::tier_contents(graph, plan)) {
    fields.emplace_back(fmt::format("{} holds", each.tier == memory::kFastTier ? "fast" : machine.tier(each.tier).name),
                        report::describe_contents(each));
  }
  const report::PlanTraffic traffic = report::plan_traffic(graph, plan);
  fields.emplace_back("migrations", fmt::format("{} a step: {} out, {} in", plan.migrations.size(),
                                                format_bytes(traffic.out), format_bytes(traffic.in)));
  if (!plan.schedule.empty()) fields.emplace_back("schedule", describe_schedule(graph, plan));
  if (std::string choices = plan::describe_choices(plan); !choices.empty())
    fields.emplace_back("choices", std::move(choices));
  fields.emplace_back("predicted step", format_seconds(plan.predicted_step_seconds));
  add_bounds(plan, fields);
  std::string below_bound;
  if (report::bound_applies(plan)) {
    const graph::FastMemoryBound bound = report::bound_of(graph);
    fields.emplace_back("bound on fast", report::describe_bound(graph, bound));
    const auto why = report::explain_below_bound(bound, plan.budgets[0], report::predicted_loss(plan, baseline));
    if (why) below_bound = report::format_item(*why);
  }
  return fmt::format("plan by {} ({}){}\n{}{}", plan.planner, plan.solver_status,
                     report::is_emulated(machine) ? ", " + report::emulation_note(machine) : "",
                     report::format_fields(fields), below_bound);
}

std::string describe_worth(const graph::Graph& graph, const plan::Plan& plan, const planners::Worth& worth) {
  if (worth.per_mib <= 0) return "";
  const Seconds per_hundredth = worth.per_mib * static_cast<double>(plan.budgets[0]) / 100 / kMiB;
  std::vector<std::pair<std::string, std::string>> fields;
  fields.emplace_back("1 % more memory",
                      fmt::format("{} of the fast tier save up to {} a step", format_bytes(plan.budgets[0] / 100),
                                  format_seconds(per_hundredth)));
  fields.emplace_back("links a tenth faster", fmt::format("save up to {}", format_seconds(worth.per_tenth_of_speed)));
  const plan::PlanGraph step(graph, plan);
  std::vector<std::string> names;
  for (const graph::OpIndex op : worth.dearest) names.push_back(step.graph().op(op).name);
  fields.emplace_back("memory is worth most", fmt::format("while {} run{} ({:.0f} % of it)", fmt::join(names, ", "),
                                                          names.size() == 1 ? "s" : "", 100 * worth.dearest_share));
  return "what more would be worth, at the bound's prices\n" + report::format_fields(fields);
}

std::string describe_noise(const sim::Noise& noise, const sim::NoisyStep& step) {
  return fmt::format("when each op varies by {:.0f} %, all of them by {:.0f} % and links by {:.0f} %\n{}",
                     100 * noise.op, 100 * noise.compute, 100 * noise.link,
                     report::format_fields({{"median step", format_seconds(step.median)},
                                            {"nine of ten steps", "at most " + format_seconds(step.percentile_90)}}));
}

}  // namespace sluice::cli

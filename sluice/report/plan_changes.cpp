#include "sluice/report/plan_changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/spread.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::report {
namespace {

constexpr int kShownDifferences = 2;
constexpr double kWorthSaying = 1.1;

std::string link_name(const memory::Machine& machine, std::size_t id) {
  return fmt::format("{} -> {}", machine.tier(machine.links[id].from).name, machine.tier(machine.links[id].to).name);
}

// What is slower or faster by at least this factor.
std::string describe_drift(const memory::Machine& machine, const sim::Drift& drift, double least) {
  std::string text;
  const auto add = [&](const std::string& what, double factor) {
    if (std::max(factor, 1 / factor) < least) return;
    text += fmt::format("{}{} {:.2f} times {}", text.empty() ? "" : ", ", what, std::max(factor, 1 / factor),
                        factor > 1 ? "slower" : "faster");
  };
  add("ops", drift.compute);
  for (std::size_t id = 0; id < drift.links.size(); ++id) add(link_name(machine, id), drift.links[id]);
  return text;
}

std::string describe_search(const memory::Machine& machine, const train::PlanChange& change) {
  // What a plan is sought for is said, however little it is.
  const double least = change.estimated ? kWorthSaying : std::min(kWorthSaying, change.drift.largest());
  const std::string off = describe_drift(machine, change.drift, least);
  const std::string why = !change.estimated ? off + " than planned for"
                          : off.empty()     ? "measured by steps now"
                                            : fmt::format("measured by steps now, {} than estimated", off);
  return fmt::format("step {:>6}  {}: planning again meanwhile", change.step + 1, why);
}

std::string describe_outcome(const train::PlanChange& change) {
  const std::string after = fmt::format("planned again in {}", format_seconds(change.planning_seconds));
  if (!change.failure.empty()) return fmt::format("{}: the plan stays, because {}", after, change.failure);
  const std::string seconds = fmt::format("{} where the plan before would take {}", format_seconds(change.new_seconds),
                                          format_seconds(change.present_seconds));
  if (!change.taken()) {
    return fmt::format("{}: the plan stays, because another gains too little in the rest of the run ({})", after,
                       seconds);
  }
  return fmt::format("{}: another plan runs from now on, predicted {}", after, seconds);
}

// "prefetches 61, prefetches_left_out 2, ...": what the planner says of this plan and not of the first.
std::string difference(const plan::Plan& first, const plan::Plan& plan) {
  std::string text;
  int found = 0;
  for (const auto& entry : plan.planner_config) {
    if (std::ranges::find(first.planner_config, entry) != first.planner_config.end()) continue;
    if (++found > kShownDifferences) return text + ", ...";
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.first, entry.second);
  }
  return text.empty() ? "other placements" : text;
}

std::string difference(const train::PlanRecord& record, std::size_t tried) {
  return tried == 0 ? "the first" : difference(record.plans.front().plan, record.plans[tried].plan);
}

std::string plans_table(const train::PlanRecord& record) {
  TextTable table(
      {{"plan"}, {"predicted", Align::kRight}, {"measured", Align::kRight}, {"steps", Align::kRight}, {"what it has"}});
  for (std::size_t tried = 0; tried < record.plans.size(); ++tried) {
    const auto& [plan, steps] = record.plans[tried];
    table.add_row({fmt::format("{}{}", tried + 1, tried == record.kept ? " kept" : ""),
                   format_seconds(plan.predicted_step_seconds),
                   steps.empty() ? "" : format_seconds(spread_of(steps).median), std::to_string(steps.size()),
                   difference(record, tried)});
  }
  return table.text();
}

// What the changes of plan of a run with trials came to.
struct ChangesMade {
  std::int64_t count = 0;
  Seconds seconds = 0;
  std::vector<std::string> failures;
};

ChangesMade changes_made(const train::PlanRecord& record) {
  ChangesMade made;
  for (const train::PlanChange& change : record.changes) {
    if (change.taken()) {
      ++made.count;
      made.seconds += change.change_seconds;
    } else {
      made.failures.push_back("a plan to try could not be started, so the best one before it is kept: " +
                              change.failure);
    }
  }
  return made;
}

nlohmann::json replans_json(const memory::Machine& machine, const std::vector<train::PlanChange>& changes) {
  nlohmann::json list = nlohmann::json::array();
  for (const train::PlanChange& each : changes) {
    nlohmann::json links = nlohmann::json::object();
    for (std::size_t id = 0; id < each.drift.links.size(); ++id) links[link_name(machine, id)] = each.drift.links[id];
    list.push_back({{"after_step", each.step + 1},
                    {"reason", each.estimated ? "estimates" : "drift"},
                    {"drift", {{"ops", each.drift.compute}, {"links", links}}},
                    {"planning_ms", each.planning_seconds * 1e3},
                    {"change_ms", each.change_seconds * 1e3},
                    {"present_predicted_ms", each.present_seconds * 1e3},
                    {"new_predicted_ms", each.new_seconds * 1e3},
                    {"taken", each.taken()},
                    {"failure", each.failure}});
  }
  return list;
}

}  // namespace

std::string describe_last_change(const memory::Machine& machine, const train::PlanRecord& record) {
  const train::PlanChange& last = record.changes.back();
  if (record.rule == train::PlanRule::kTrials) {
    return fmt::format("plan {}: {}, predicted {}", record.running + 1, difference(record, record.running),
                       format_seconds(record.plans[record.running].plan.predicted_step_seconds));
  }
  return last.outcome == train::PlanChange::Outcome::kSought ? describe_search(machine, last) : describe_outcome(last);
}

std::string describe_trials(const train::PlanRecord& record) {
  if (record.rule != train::PlanRule::kTrials) return {};
  std::vector<std::pair<std::string, std::string>> fields{
      {"profiling",
       fmt::format("{} step{}, outside this run", record.profiling_steps, record.profiling_steps == 1 ? "" : "s")},
      {"trials", fmt::format("{} steps for {} occasions{}", record.trial_steps, record.search.occasions,
                             record.complete ? "" : ", cut short")},
      {"warm-up", fmt::format("{} steps", record.warmup_steps)},
      {"found", record.search.summary}};
  const ChangesMade made = changes_made(record);
  if (made.count > 0) {
    fields.emplace_back("changes", fmt::format("{} of plan, {} each", made.count,
                                               format_seconds(made.seconds / static_cast<double>(made.count))));
  }
  for (const std::string& failure : made.failures) fields.emplace_back("note", failure);
  return fmt::format("trials\n{}{}", format_fields(fields), record.trial_steps == 0 ? "" : plans_table(record));
}

nlohmann::json trials_json(const train::PlanRecord& record) {
  nlohmann::json plans = nlohmann::json::array();
  for (const train::TriedPlan& tried : record.plans) {
    nlohmann::json measured = nlohmann::json::array();
    for (const Seconds seconds : tried.steps) measured.push_back(seconds * 1e3);
    plans.push_back({{"predicted_ms", tried.plan.predicted_step_seconds * 1e3},
                     {"measured_ms", measured},
                     {"planner_config", tried.plan.planner_config},
                     {"kept", &tried == &record.plans[record.kept]}});
  }
  const ChangesMade made = changes_made(record);
  return {{"profiling_steps", record.profiling_steps},
          {"trial_steps", record.trial_steps},
          {"warmup_steps", record.warmup_steps},
          {"occasions", record.search.occasions},
          {"summary", record.search.summary},
          {"complete", record.complete},
          {"changes", made.count},
          {"change_ms", made.seconds * 1e3},
          {"plans", plans},
          {"notes", made.failures}};
}

void add_plan_changes(nlohmann::json& document, const memory::Machine& machine, const train::PlanRecord& record) {
  if (record.rule == train::PlanRule::kTrials) document["trials"] = trials_json(record);
  if (record.rule == train::PlanRule::kReplanning) document["replans"] = replans_json(machine, record.changes);
}

}  // namespace sluice::report

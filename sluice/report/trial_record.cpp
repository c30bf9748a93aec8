#include "sluice/report/trial_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/spread.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::report {
namespace {

constexpr int kShownDifferences = 2;

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

std::string differences(const experiment::TrialRecord& record, const experiment::TriedPlan& tried) {
  const bool first = &tried == &record.plans.front();
  return first ? "the first" : difference(record.plans.front().plan, tried.plan);
}

std::size_t number_of(const experiment::TrialRecord& record, const experiment::TriedPlan& tried) {
  return as_index(&tried - record.plans.data()) + 1;
}

std::string plans_table(const experiment::TrialRecord& record) {
  TextTable table(
      {{"plan"}, {"predicted", Align::kRight}, {"measured", Align::kRight}, {"steps", Align::kRight}, {"what it has"}});
  for (const experiment::TriedPlan& tried : record.plans) {
    const bool kept = &tried == &record.plans[record.kept];
    table.add_row({fmt::format("{}{}", number_of(record, tried), kept ? " kept" : ""),
                   format_seconds(tried.plan.predicted_step_seconds),
                   tried.steps.empty() ? "" : format_seconds(spread_of(tried.steps).median),
                   std::to_string(tried.steps.size()), differences(record, tried)});
  }
  return table.text();
}

}  // namespace

std::string describe_change(const experiment::TrialRecord& record, const experiment::TriedPlan& tried) {
  return fmt::format("plan {}: {}, predicted {}", number_of(record, tried), differences(record, tried),
                     format_seconds(tried.plan.predicted_step_seconds));
}

std::string describe_trials(const experiment::TrialRecord& record) {
  const Seconds each = record.change_seconds / static_cast<double>(std::max<std::int64_t>(1, record.changes));
  std::vector<std::pair<std::string, std::string>> fields{
      {"profiling",
       fmt::format("{} step{}, outside this run", record.profiling_steps, record.profiling_steps == 1 ? "" : "s")},
      {"trials", fmt::format("{} steps for {} occasions{}", record.trial_steps, record.search.occasions,
                             record.complete ? "" : ", cut short")},
      {"warm-up", fmt::format("{} steps", record.warmup_steps)},
      {"found", record.search.summary}};
  if (record.changes > 0) {
    fields.emplace_back("changes", fmt::format("{} of plan, {} each", record.changes, format_seconds(each)));
  }
  for (const std::string& note : record.notes) fields.emplace_back("note", note);
  const std::string table = record.trial_steps == 0 ? "" : plans_table(record);
  return fmt::format("trials\n{}{}", format_fields(fields), table);
}

nlohmann::json trials_json(const experiment::TrialRecord& record) {
  nlohmann::json plans = nlohmann::json::array();
  for (const experiment::TriedPlan& tried : record.plans) {
    nlohmann::json measured = nlohmann::json::array();
    for (const Seconds seconds : tried.steps) measured.push_back(seconds * 1e3);
    plans.push_back({{"predicted_ms", tried.plan.predicted_step_seconds * 1e3},
                     {"measured_ms", measured},
                     {"planner_config", tried.plan.planner_config},
                     {"kept", &tried == &record.plans[record.kept]}});
  }
  return {{"profiling_steps", record.profiling_steps},
          {"trial_steps", record.trial_steps},
          {"warmup_steps", record.warmup_steps},
          {"occasions", record.search.occasions},
          {"summary", record.search.summary},
          {"complete", record.complete},
          {"changes", record.changes},
          {"change_ms", record.change_seconds * 1e3},
          {"plans", plans},
          {"notes", record.notes}};
}

}  // namespace sluice::report

#include "tools/policy_output.hpp"

#include <fmt/format.h>

#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::cli {

std::string describe_policy_run(const memory::Machine& machine, const policies::Run& run) {
  const plan::Plan& plan = policies::plan_of(run);
  const auto room = static_cast<double>(policies::usable_fast_bytes(run));
  const auto whole = static_cast<double>(plan.budgets.at(memory::kFastTier));
  return fmt::format("policy {}, decides during the step{}\n{}", plan.planner,
                     report::is_emulated(machine) ? ", " + report::emulation_note(machine) : "",
                     report::format_fields({{"fast memory", fmt::format("{} ({:.1f} % of everything)",
                                                                        format_bytes(policies::usable_fast_bytes(run)),
                                                                        100 * room / whole)},
                                            {"predicted step", format_seconds(plan.predicted_step_seconds)}}));
}

std::string describe_policy_timeline(const sim::PolicyTimeline& timeline) {
  const sim::PolicyStep steady = timeline.steady();
  std::vector<std::pair<std::string, std::string>> fields{
      {"in balance", fmt::format("{} a step, the mean of the last {} of {} steps", format_seconds(steady.step_seconds),
                                 timeline.steps.size() - timeline.steps.size() / 2, timeline.steps.size())},
      {"pages a step", fmt::format("{} in, {} out", format_bytes(steady.bytes_in()), format_bytes(steady.bytes_out()))},
      {"used in place", fmt::format("{} read, {} written in slow memory a step", format_bytes(steady.slow_read()),
                                    format_bytes(steady.slow_written()))}};
  for (const auto& [name, value] : timeline.figures) fields.emplace_back(name, fmt::format("{:.6g} in all", value));
  return report::format_fields(fields);
}

nlohmann::json policy_timeline_json(const sim::PolicyTimeline& timeline) {
  const sim::PolicyStep steady = timeline.steady();
  nlohmann::json figures = nlohmann::json::object();
  for (const auto& [name, value] : timeline.figures) figures[name] = value;
  nlohmann::json step_ms = nlohmann::json::array();
  for (const sim::PolicyStep& step : timeline.steps) step_ms.push_back(step.step_seconds * 1e3);
  return {{"steps_ms", step_ms},
          {"steady_ms", steady.step_seconds * 1e3},
          {"steady_stall_ms", steady.stall_seconds * 1e3},
          {"steady_bytes_in", steady.bytes_in()},
          {"steady_bytes_out", steady.bytes_out()},
          {"steady_slow_read", steady.slow_read()},
          {"steady_slow_written", steady.slow_written()},
          {"steady_locality", steady.locality().by_bytes()},
          {"figures", figures}};
}

std::string describe_dtr_step(const policies::DtrStep& step, const policies::Run& run) {
  return report::format_fields(
      {{"made again", fmt::format("{} ops, {}", step.runs_again, format_seconds(step.recomputation))},
       {"evicted", fmt::format("{} times to make room, {}", step.evictions, format_bytes(step.evicted_bytes))},
       {"at once", fmt::format("{} at most of {}", format_bytes(step.most_bytes),
                               format_bytes(policies::usable_fast_bytes(run)))}});
}

nlohmann::json dtr_step_json(const policies::DtrStep& step) {
  nlohmann::json figures = nlohmann::json::object();
  for (const auto& [name, value] : policies::figures_of(step)) figures[name] = value;
  return {{"figures", figures}, {"evicted_bytes", step.evicted_bytes}, {"most_bytes", step.most_bytes}};
}

}  // namespace sluice::cli

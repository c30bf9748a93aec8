#include "tools/train_output.hpp"

#include <fmt/format.h>

#include "sluice/memory/process_memory.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::cli {
namespace {

nlohmann::json validations_json(const StepLog& log) {
  nlohmann::json list = nlohmann::json::array();
  for (const ValidationRecord& record : log.validations()) {
    nlohmann::json entry = {{"step", record.step},
                            {"loss", record.result.loss},
                            {"predictions", record.result.predictions},
                            {"batches", record.result.batches}};
    if (record.result.accuracy) {
      entry["accuracy"] = *record.result.accuracy;
    } else {
      entry["perplexity"] = record.result.perplexity();
    }
    list.push_back(entry);
  }
  return list;
}

}  // namespace

std::string describe_estimates(const profile::Profile& profile, const plan::Plan& plan) {
  const std::string made = fmt::format("nothing was measured for long: {} of {} distinct ops have estimated times",
                                       profile.estimated_ops, profile.distinct_ops);
  if (plan.migrations.empty()) return made + ", which do not matter where everything fits";
  return made + "; the first steps measure, and a better plan takes over when it is there";
}

nlohmann::json figures_json(const profile::Profile& profile, bool estimated) {
  return {{"estimated", estimated},
          {"distinct_ops", profile.distinct_ops},
          {"estimated_ops", profile.estimated_ops},
          {"in_step_ops", profile.in_step_ops},
          {"estimated_share", profile.estimated_share}};
}

Fields summary_fields(const StepLog& log, const TrainSummary& summary, std::optional<Seconds> predicted) {
  Fields fields;
  if (!log.empty()) {
    const Spread step = log.step_seconds();
    fields.emplace_back("step time", fmt::format("{} median ({} to {}){}", format_seconds(step.median),
                                                 format_seconds(step.min), format_seconds(step.max),
                                                 predicted ? ", predicted " + format_seconds(*predicted) : ""));
    fields.emplace_back("stall", fmt::format("{} median", format_seconds(log.stall_seconds().median)));
    fields.emplace_back("final loss", fmt::format("{:.9g}", log.last_loss()));
  }
  if (!log.validations().empty()) fields.emplace_back("validation", train::describe(log.validations().back().result));
  fields.emplace_back("parameters", summary.parameter_hash);
  return fields;
}

std::string describe_end(const TrainSummary& summary, const memory::Machine& machine, const Fields& fields) {
  return fmt::format("{} step {}{}\n{}", summary.outcome.interrupted ? "interrupted before" : "done at",
                     summary.outcome.next_step + (summary.outcome.interrupted ? 1 : 0),
                     report::is_emulated(machine) ? ", " + report::emulation_note(machine) : "",
                     report::format_fields(fields));
}

void add_to_json(nlohmann::json& document, const StepLog& log, const TrainSummary& summary) {
  document["next_step"] = summary.outcome.next_step;
  document["interrupted"] = summary.outcome.interrupted;
  document["parameter_hash"] = summary.parameter_hash;
  document["peak_rss_bytes"] = memory::peak_resident_bytes();
  document["validation"] = validations_json(log);
  if (log.empty()) return;
  const Spread step = log.step_seconds();
  document["final_loss"] = log.last_loss();
  document["step_ms"] = {{"median", step.median * 1e3}, {"min", step.min * 1e3}, {"max", step.max * 1e3}};
  document["stall_ms"] = log.stall_seconds().median * 1e3;
}

}  // namespace sluice::cli

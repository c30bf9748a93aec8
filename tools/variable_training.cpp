#include "tools/variable_training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sluice/base/progress/progress.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/memory/process_memory.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/plan_summary.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/variants/variant_training.hpp"
#include "tools/commands.hpp"
#include "tools/output_files.hpp"
#include "tools/plan_output.hpp"
#include "tools/terminal/say.hpp"
#include "tools/train_output.hpp"

namespace sluice::cli {
namespace {

std::string describe_profile(const train::Variant& variant) {
  if (variant.estimated()) return "estimated from " + to_string(variant.profiled);
  return fmt::format("measured, {} of {} ops new", variant.measured_ops, variant.distinct_ops);
}

std::string describe_planned(const train::Variant& variant) {
  return fmt::format("{}: bucket {}, profile {}; plan by {}, predicted step {}", to_string(variant.key),
                     variant.bucket + 1, describe_profile(variant), variant.plan().planner,
                     format_seconds(variant.plan().predicted_step_seconds));
}

std::string variants_table(const train::VariantTraining& training) {
  report::TextTable table({{"variant"},
                           {"bucket", report::Align::kRight},
                           {"profile"},
                           {"steps", report::Align::kRight},
                           {"fast arena", report::Align::kRight},
                           {"predicted", report::Align::kRight}});
  for (const auto& [key, variant] : training.variants()) {
    table.add_row({to_string(key), std::to_string(variant.bucket + 1), describe_profile(variant),
                   std::to_string(variant.steps), format_bytes(variant.plan().arena_bytes[0]),
                   format_seconds(variant.plan().predicted_step_seconds)});
  }
  return table.text();
}

Fields cost_fields(const train::VariantCosts& costs) {
  const auto each = costs.switches > 0 ? costs.switch_seconds / static_cast<double>(costs.switches) : 0;
  return {{"profiles", fmt::format("{} measured, {} estimated", costs.profiles_measured, costs.profiles_estimated)},
          {"plans", fmt::format("{}, all prepared in {}", costs.plans, format_seconds(costs.preparation_seconds))},
          {"switches", fmt::format("{}, {} each", costs.switches, format_seconds(each))}};
}

nlohmann::json variants_json(const train::VariantTraining& training) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [key, variant] : training.variants()) {
    list.push_back({{"variant", to_string(key)},
                    {"size", key.size},
                    {"bucket", variant.bucket + 1},
                    {"profile", variant.estimated() ? "estimated" : "measured"},
                    {"profiled", to_string(variant.profiled)},
                    {"measured_ops", variant.measured_ops},
                    {"distinct_ops", variant.distinct_ops},
                    {"steps", variant.steps},
                    {"plan", report::plan_summary_json(variant.workload.graph(), training.machine(), variant.plan())}});
  }
  return list;
}

nlohmann::json costs_json(const train::VariantCosts& costs) {
  return {{"profiles_measured", costs.profiles_measured},
          {"profiles_estimated", costs.profiles_estimated},
          {"plans", costs.plans},
          {"preparation_ms", costs.preparation_seconds * 1e3},
          {"switches", costs.switches},
          {"switch_ms", costs.switch_seconds * 1e3}};
}

Status report(const TrainArguments& arguments, const train::VariantTraining& training, const StepLog& log,
              const TrainSummary& summary) {
  Fields fields = summary_fields(log, summary, std::nullopt);
  for (auto& field : cost_fields(training.costs())) fields.push_back(std::move(field));
  fields.emplace_back("peak resident", format_bytes(memory::peak_resident_bytes()));
  if (summary.outcome.saved) fields.emplace_back("checkpoint", arguments.checkpoint);
  say("{}{}", describe_end(summary, training.machine(), fields), variants_table(training));
  if (arguments.json.empty()) return {};
  nlohmann::json document = {{"run", report::run_record(training.machine())},
                             {"model", training.reference().workload.graph().name},
                             {"notes", training.notes()},
                             {"variants", variants_json(training)},
                             {"variant_costs", costs_json(training.costs())}};
  add_to_json(document, log, summary);
  return report::write_document(arguments.json, "train", std::move(document));
}

// The run's settings but for what measures and reports.
Result<train::VariantSettings> settings_for(const TrainArguments& arguments, const train::WorkloadOptions& options) {
  SLUICE_ASSIGN(const std::vector<std::int64_t> lengths, train::parse_sizes(arguments.sequences));
  train::VariantSettings settings;
  settings.key_of = train::drawn_sizes(lengths, arguments.session.seed);
  settings.keys = fmt::format("sequences {}", fmt::join(lengths, ","));
  settings.build = [options](const train::VariantKey& key) {
    train::WorkloadOptions each = options;
    each.shape.sequence = key.size;
    return train::build_workload(each);
  };
  settings.buckets = train::SizeBuckets(lengths.front(), lengths.back());
  settings.reference = {.path = {}, .size = lengths.back()};
  settings.planner = arguments.planner.name;
  SLUICE_ASSIGN(settings.fast, arguments.budget.fixed());
  settings.session = arguments.session;
  settings.session.validate = arguments.validates();
  return settings;
}

// Models without sequences are refused before anything is measured.
Status check_takes_sequences(train::WorkloadOptions options, std::int64_t length) {
  options.shape.sequence = length;
  SLUICE_RETURN_IF_ERROR(train::build_forward(options));
  return {};
}

// The step to begin with.
Result<std::int64_t> resume(train::VariantTraining& training, const std::string& checkpoint) {
  if (checkpoint.empty()) return std::int64_t{0};
  const WaitingLine waiting(fmt::format("reading {}", checkpoint));
  return training.load_checkpoint(checkpoint);
}

}  // namespace

Result<int> train_sequences(const TrainArguments& arguments) {
  if (!arguments.machine.processors.empty()) {
    return bad_input("--processors: steps of several lengths run on the CPU alone");
  }
  SLUICE_ASSIGN(memory::Machine machine, arguments.machine.machine());
  SLUICE_ASSIGN(const train::WorkloadOptions options, arguments.workload.options(machine.threads));
  SLUICE_ASSIGN(train::VariantSettings settings, settings_for(arguments, options));
  SLUICE_RETURN_IF_ERROR(check_takes_sequences(options, settings.reference.size));
  profile::ProfileCache cache = arguments.machine.open_cache(machine);
  print_notes(cache.notes());
  SLUICE_RETURN_IF_ERROR(probe_with_progress(machine, cache, experiment::Probe::kUseCache));
  settings.profile = [&](train::Workload& workload) {
    ProgressLine progress("measuring ops");
    return measure::measure_profile(*workload.compiled, machine, cache,
                                    {.on_progress = [&](int done, int total) { progress.update(done, total); }});
  };
  SLUICE_RETURN_IF_ERROR(arguments.loop_options(0));
  std::optional<StepLog> log;
  settings.on_planned = [&](const train::Variant& variant) {
    log ? log->print(describe_planned(variant)) : say("{}\n", describe_planned(variant));
  };
  SLUICE_ASSIGN(const std::unique_ptr<train::VariantTraining> training,
                train::VariantTraining::create(machine, settings));
  print_notes(training->notes());
  const train::Variant& longest = training->reference();
  say("longest: {}\n{}", report::describe_graph(longest.workload.graph()),
      describe_plan(longest.workload.graph(), machine, longest.plan()));
  say_now();
  SLUICE_ASSIGN(const std::int64_t first_step, resume(*training, arguments.resume));
  SLUICE_ASSIGN(const train::TrainingOptions loop, arguments.loop_options(first_step));
  log.emplace(false, loop.first_step, loop.end_step);
  if (!arguments.losses.empty()) SLUICE_RETURN_IF_ERROR(log->write_losses(arguments.losses));
  TrainSummary summary;
  const train::InterruptGuard guard;  // until all is written
  SLUICE_ASSIGN(summary.outcome, run_logged(*training, loop, *log, guard));
  SLUICE_ASSIGN(summary.parameter_hash, training->hash_parameters());
  Outputs outputs;
  outputs.note(summary.outcome.failure);
  outputs.note(report(arguments, *training, *log, summary));
  outputs.note(log->finish_losses());
  SLUICE_RETURN_IF_ERROR(outputs.failure());
  return summary.outcome.interrupted ? kExitInterrupted : kExitOk;
}

}  // namespace sluice::cli

// sluice train: trains a model inside a fast-memory budget.
#include <fmt/format.h>

#include <memory>

#include "sluice/plan/plan_file.hpp"
#include "sluice/report/chrome_trace.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/data_source.hpp"
#include "sluice/train/interrupt.hpp"
#include "sluice/train/onnx_workload.hpp"
#include "sluice/train/process_memory.hpp"
#include "sluice/train/training_loop.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/plan_output.hpp"
#include "tools/step_log.hpp"

namespace sluice {
namespace {

struct Arguments {
  WorkloadArguments workload;
  MachineArguments machine;
  BudgetArguments budget;
  std::string planner = "sentinel";
  std::string profile;
  std::string plan;
  std::int64_t steps = 100;
  std::optional<double> learning_rate;
  std::string schedule = "constant";
  SessionOptions session;
  std::string checkpoint, resume, trace, losses, json, export_onnx;
  std::int64_t checkpoint_every = 0;
  std::optional<std::int64_t> validate_every;
  std::int64_t validation_batches = 0;
  bool no_validation = false;

  bool validates() const {
    return !no_validation && (validate_every.has_value() || has_validation_split(session.data));
  }
};

Status check(const Arguments& arguments) {
  if (arguments.steps <= 0) {
    return Error{ErrorCode::kBadInput, fmt::format("--steps must be above 0, got {}", arguments.steps)};
  }
  if (arguments.checkpoint_every < 0) return Error{ErrorCode::kBadInput, "--checkpoint-every must not be negative"};
  if (arguments.checkpoint_every > 0 && arguments.checkpoint.empty()) {
    return Error{ErrorCode::kBadInput, "--checkpoint-every needs --checkpoint FILE"};
  }
  if (arguments.validate_every.value_or(0) < 0 || arguments.validation_batches < 0) {
    return Error{ErrorCode::kBadInput, "--validate-every and --validate-batches must not be negative"};
  }
  if (arguments.no_validation && arguments.validate_every) {
    return Error{ErrorCode::kBadInput, "--no-validation and --validate-every exclude each other"};
  }
  if (!arguments.export_onnx.empty() && arguments.workload.onnx.empty()) {
    return Error{ErrorCode::kBadInput,
                 "--export-onnx needs --onnx FILE: only a model that came from an ONNX file can "
                 "be written back as one"};
  }
  return {};
}

struct Run {
  Workload workload;
  Machine machine;
  Plan plan;
};

// A plan from a file needs no profile, so nothing is measured.
Result<Run> obtain_run(const Arguments& arguments) {
  if (arguments.plan.empty()) {
    SLUICE_ASSIGN(const FastBudget fast, arguments.budget.budget());
    SLUICE_ASSIGN(Prepared prepared,
                  prepare(arguments.workload, arguments.machine, Probe::kUseCache, arguments.profile));
    SLUICE_ASSIGN(Plan plan,
                  plan_workload(prepared.workload, prepared.machine, prepared.profile, arguments.planner, fast));
    return Run{std::move(prepared.workload), std::move(prepared.machine), std::move(plan)};
  }
  SLUICE_ASSIGN(Plan plan, read_plan(arguments.plan));
  SLUICE_ASSIGN(Machine machine, arguments.machine.machine());
  SLUICE_ASSIGN(const WorkloadOptions options, arguments.workload.options(machine.threads));
  SLUICE_ASSIGN(Workload workload, build_workload(options));
  print_notes(workload.notes);
  SLUICE_RETURN_IF_ERROR(check_plan(workload.graph(), machine, plan));
  return Run{std::move(workload), std::move(machine), std::move(plan)};
}

struct Summary {
  TrainingOutcome outcome;
  std::string parameter_hash;
};

void print_summary(const StepLog& log, const Run& run, const Summary& summary, const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> fields;
  if (!log.empty()) {
    const Spread step = log.step_seconds();
    fields.emplace_back("step time", fmt::format("{} median ({} to {}), predicted {}", format_seconds(step.median),
                                                 format_seconds(step.min), format_seconds(step.max),
                                                 format_seconds(run.plan.predicted_step_seconds)));
    fields.emplace_back("stall", fmt::format("{} median", format_seconds(log.stall_seconds().median)));
    fields.emplace_back("final loss", fmt::format("{:.9g}", log.last_loss()));
  }
  if (!log.validations().empty()) fields.emplace_back("validation", describe(log.validations().back().result));
  fields.emplace_back("parameters", summary.parameter_hash);
  fields.emplace_back("peak resident", fmt::format("{} (fast arena {})", format_bytes(peak_resident_bytes()),
                                                   format_bytes(run.plan.arena_bytes[0])));
  if (!arguments.checkpoint.empty()) fields.emplace_back("checkpoint", arguments.checkpoint);
  if (!arguments.export_onnx.empty()) fields.emplace_back("exported", arguments.export_onnx);
  fmt::print("{} step {}{}\n{}", summary.outcome.interrupted ? "interrupted before" : "done at",
             summary.outcome.next_step + (summary.outcome.interrupted ? 1 : 0),
             is_emulated(run.machine) ? ", slow memory emulated" : "", format_fields(fields));
}

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

Status write_outputs(const Arguments& arguments, const Run& run, const Session& session, const StepLog& log,
                     const Summary& summary) {
  if (!log.losses_written()) {
    return Error{ErrorCode::kIo, fmt::format("could not write all losses to {}", arguments.losses)};
  }
  if (!arguments.trace.empty()) {
    SLUICE_RETURN_IF_ERROR(write_json_file(
        arguments.trace, chrome_trace(run.workload.graph(), run.machine, run.plan, session.program(), log.traced())));
  }
  if (arguments.json.empty()) return {};
  nlohmann::json document = plan_summary_json(run.workload.graph(), run.machine, run.plan);
  document["next_step"] = summary.outcome.next_step;
  document["interrupted"] = summary.outcome.interrupted;
  document["parameter_hash"] = summary.parameter_hash;
  document["peak_rss_bytes"] = peak_resident_bytes();
  document["notes"] = session.notes();
  document["validation"] = validations_json(log);
  if (!log.empty()) {
    const Spread step = log.step_seconds();
    document["final_loss"] = log.last_loss();
    document["step_ms"] = {{"median", step.median * 1e3}, {"min", step.min * 1e3}, {"max", step.max * 1e3}};
    document["stall_ms"] = log.stall_seconds().median * 1e3;
  }
  return write_json_file(arguments.json, document);
}

Result<TrainingOptions> training_options(const Arguments& arguments, Session& session) {
  TrainingOptions options;
  SLUICE_ASSIGN(options.schedule, parse_learning_rate_schedule(arguments.schedule));
  SLUICE_ASSIGN(options.learning_rate, base_learning_rate(arguments.learning_rate, arguments.workload.optimizer));
  if (!arguments.resume.empty()) {
    SLUICE_ASSIGN(options.first_step, session.load_checkpoint(arguments.resume));
  }
  options.end_step = arguments.steps;
  if (!arguments.checkpoint.empty()) options.checkpoint = arguments.checkpoint;
  options.checkpoint_every = arguments.checkpoint_every;
  options.validate = arguments.validates();
  options.validate_every = arguments.validate_every.value_or(0);
  options.validation_batches = arguments.validation_batches;
  if (options.first_step < options.end_step) return options;
  return Error{ErrorCode::kBadInput, fmt::format("{} already holds {} steps; --steps {} counts from the start, so "
                                                 "nothing is left to do",
                                                 arguments.resume, options.first_step, arguments.steps)};
}

Result<TrainingOutcome> train(Session& session, const TrainingOptions& options, StepLog& log) {
  const InterruptGuard guard;
  return run_training(
      session, options,
      {.step = [&](const StepReport& report) { log.note(report); },
       .validation = [&](std::int64_t next_step, const ValidationResult& result) { log.note(next_step, result); },
       .stop = [&] { return guard.interrupted(); }});
}

Result<int> run(const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(check(arguments));
  SLUICE_RETURN_IF_ERROR(parse_learning_rate_schedule(arguments.schedule));
  SLUICE_RETURN_IF_ERROR(base_learning_rate(arguments.learning_rate, arguments.workload.optimizer));
  SLUICE_ASSIGN(Run run, obtain_run(arguments));
  fmt::print("{}\n{}", describe_graph(run.workload.graph()),
             describe_plan(run.workload.graph(), run.machine, run.plan));
  std::fflush(stdout);
  SessionOptions session_options = arguments.session;
  session_options.validate = arguments.validates();
  SLUICE_ASSIGN(const std::unique_ptr<Session> session,
                Session::create(run.workload, run.machine, run.plan, session_options));
  print_notes(session->notes());
  SLUICE_ASSIGN(const TrainingOptions options, training_options(arguments, *session));
  StepLog log(arguments.losses, !arguments.trace.empty(), options.first_step, options.end_step);
  Summary summary;
  SLUICE_ASSIGN(summary.outcome, train(*session, options, log));
  SLUICE_ASSIGN(summary.parameter_hash, session->hash_parameters());
  if (!arguments.export_onnx.empty()) {
    SLUICE_RETURN_IF_ERROR(write_onnx_workload(run.workload.options, arguments.export_onnx, session->parameters()));
  }
  print_summary(log, run, summary, arguments);
  SLUICE_RETURN_IF_ERROR(write_outputs(arguments, run, *session, log, summary));
  return summary.outcome.interrupted ? kExitInterrupted : kExitOk;
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", "Train a model inside a fast-memory budget");
  auto arguments = std::make_shared<Arguments>();
  Arguments& each = *arguments;
  each.workload.add_to(*command);
  each.machine.add_to(*command);
  each.budget.add_to(*command);
  add_planner_option(*command, each.planner);
  add_profile_option(*command, each.profile);
  command->add_option("--plan", each.plan, "Obey this plan file instead of asking a planner")->check(CLI::ExistingFile);
  command->add_option("--steps", each.steps, "Train up to this step, counted from the start")->capture_default_str();
  add_data_options(*command, each.session);
  command->add_option("--validate-every", each.validate_every,
                      "Measure accuracy or perplexity on the validation split after every so many steps, and at the "
                      "end (0: at the end only; the default for data with such a split)");
  command->add_option("--validate-batches", each.validation_batches, "At most so many batches of it (0: all)")
      ->capture_default_str();
  command->add_flag("--no-validation", each.no_validation, "Leave that out");
  add_learning_rate_option(*command, each.learning_rate);
  command->add_option("--schedule", each.schedule, "constant, step:30,60[:0.1], cosine:100; warmup:5+ before any")
      ->capture_default_str();
  command->add_option("--checkpoint", each.checkpoint, "Write checkpoints to this file (at the end, and on Ctrl-C)");
  command->add_option("--checkpoint-every", each.checkpoint_every, "and after every so many steps");
  command->add_option("--resume", each.resume, "Go on from this checkpoint")->check(CLI::ExistingFile);
  command->add_option("--export-onnx", each.export_onnx,
                      "Write a copy of the --onnx file with the trained parameters to this file");
  command->add_option("--losses", each.losses, "Write one JSON line for every step to this file");
  command->add_option("--trace", each.trace, "Write the last five steps as a Chrome/Perfetto trace");
  add_json_option(*command, each.json);
  command->footer("Example: sluice train resnet20 --batch 32 --fast 30% --steps 100 --trace trace.json");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace sluice

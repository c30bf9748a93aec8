#include "tools/train_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sluice/data/data_source.hpp"
#include "sluice/train/plan_changes/watched_training.hpp"
#include "tools/output_files.hpp"

namespace sluice::cli {
namespace {

Status check_sequences(const TrainArguments& arguments) {
  if (arguments.workload.sequence) {
    return Error{ErrorCode::kBadInput, "--sequence and --sequences exclude each other"};
  }
  for (const auto& [option, value] :
       {std::pair("--plan", &arguments.plan), std::pair("--profile", &arguments.profile.times),
        std::pair("--accesses", &arguments.profile.accesses), std::pair("--save-plan", &arguments.save_plan),
        std::pair("--trace", &arguments.trace), std::pair("--export-onnx", &arguments.export_onnx)}) {
    if (value->empty()) continue;
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} is about one graph, but with --sequences every length has its own; leave one of them "
                             "out",
                             option)};
  }
  if (arguments.planner.most_seconds) {
    return Error{
        ErrorCode::kUnsupported,
        "--planning-time is for one plan, but with --sequences every length has its own; leave one of them out"};
  }
  if (arguments.workload.update.delayed) {
    return Error{
        ErrorCode::kUnsupported,
        "--delay-updates keeps gradients of one graph for its next step, but with --sequences every length has its "
        "own; leave one of them out"};
  }
  if (arguments.trials.value_or(0) > 0) {
    return Error{ErrorCode::kUnsupported,
                 "--trials compares steps of one graph, but with --sequences every length has its own; leave one of "
                 "them out"};
  }
  return {};
}

}  // namespace

bool TrainArguments::validates() const {
  return !no_validation && (validate_every.has_value() || data::has_validation_split(session.data));
}

Result<double> TrainArguments::drift_to_replan() const {
  if (replan_beyond.empty()) return train::kUsualDrift;
  if (no_replan) return bad_input("--no-replan and --replan-beyond exclude each other");
  SLUICE_ASSIGN(const double drift, parse_percentage("--replan-beyond", replan_beyond));
  if (drift > 0) return drift;
  return bad_input("--replan-beyond must be above 0%: no step takes exactly what was predicted");
}

Status TrainArguments::check() const {
  if (steps <= 0) {
    return Error{ErrorCode::kBadInput, fmt::format("--steps must be above 0, got {}", steps)};
  }
  if (checkpoint_every < 0) return Error{ErrorCode::kBadInput, "--checkpoint-every must not be negative"};
  if (checkpoint_every > 0 && checkpoint.empty()) {
    return Error{ErrorCode::kBadInput, "--checkpoint-every needs --checkpoint FILE"};
  }
  if (validate_every.value_or(0) < 0 || validation_batches < 0) {
    return Error{ErrorCode::kBadInput, "--validate-every and --validate-batches must not be negative"};
  }
  if (no_validation && validate_every) {
    return Error{ErrorCode::kBadInput, "--no-validation and --validate-every exclude each other"};
  }
  if (!export_onnx.empty() && workload.onnx.empty()) {
    return Error{ErrorCode::kBadInput,
                 "--export-onnx needs --onnx FILE: only a model that came from an ONNX file can "
                 "be written back as one"};
  }
  SLUICE_RETURN_IF_ERROR(planner.check());
  SLUICE_RETURN_IF_ERROR(drift_to_replan());
  SLUICE_RETURN_IF_ERROR(check_trials(trials));
  if (trials.value_or(0) > 0 && !plan.empty()) {
    return Error{ErrorCode::kBadInput, "--plan FILE is the one plan to obey: leave out --trials"};
  }
  SLUICE_RETURN_IF_ERROR(train::parse_learning_rate_schedule(schedule));
  SLUICE_RETURN_IF_ERROR(base_learning_rate(learning_rate, workload.optimizer));
  return sequences.empty() ? Status{} : check_sequences(*this);
}

Result<train::TrainingOptions> TrainArguments::loop_options(std::int64_t first_step) const {
  train::TrainingOptions options;
  SLUICE_ASSIGN(options.schedule, train::parse_learning_rate_schedule(schedule));
  SLUICE_ASSIGN(options.learning_rate, base_learning_rate(learning_rate, workload.optimizer));
  options.first_step = first_step;
  options.end_step = steps;
  if (!checkpoint.empty()) options.checkpoint = checkpoint;
  options.checkpoint_every = checkpoint_every;
  options.validate = validates();
  options.validate_every = validate_every.value_or(0);
  options.validation_batches = validation_batches;
  if (options.first_step < options.end_step) return options;
  return Error{ErrorCode::kBadInput, fmt::format("{} already holds {} steps; --steps {} counts from the start, so "
                                                 "nothing is left to do",
                                                 resume, options.first_step, steps)};
}

void TrainArguments::add_to(CLI::App& command) {
  workload.add_to(command);
  machine.add_to(command);
  budget.add_to(command);
  planner.add_to(command);
  profile.add_to(command);
  command.add_option("--plan", plan, "Obey this plan file instead of asking a planner")->check(CLI::ExistingFile);
  add_trials_option(command, trials);
  command
      .add_option("--replan-beyond", replan_beyond,
                  "Plan again meanwhile when ops or a link are slower or faster than predicted by more than this "
                  "(default: 25%)")
      ->type_name("SHARE");
  command.add_flag("--no-replan", no_replan, "Keep the plan whatever the machine does");
  add_output_file(command, "--save-plan", save_plan,
                  "Write the plan of the run, after trials the one kept and else the last, to this file");
  command
      .add_option("--sequences", sequences,
                  "Draw the tokens in a sequence anew for every step from these: 20,25,40, or 16-64:16 for 16, 32, "
                  "48, 64; each has its own plan")
      ->type_name("LENGTHS");
  command.add_option("--steps", steps, "Train up to this step, counted from the start")->capture_default_str();
  add_data_options(command, session);
  command.add_option("--validate-every", validate_every,
                     "Measure accuracy or perplexity on the validation split after every so many steps, and at the "
                     "end (0: at the end only; the default for data with such a split)");
  command.add_option("--validate-batches", validation_batches, "At most so many batches of it (0: all)")
      ->capture_default_str();
  command.add_flag("--no-validation", no_validation, "Leave that out");
  add_learning_rate_option(command, learning_rate);
  command.add_option("--schedule", schedule, "constant, step:30,60[:0.1], cosine:100; warmup:5+ before any")
      ->type_name("SCHEDULE")
      ->capture_default_str();
  add_output_file(command, "--checkpoint", checkpoint,
                  "Write checkpoints to this file (at the end, and when the run is ended by a signal)");
  command.add_option("--checkpoint-every", checkpoint_every, "and after every so many steps");
  command.add_option("--resume", resume, "Go on from this checkpoint")->check(CLI::ExistingFile);
  add_output_file(command, "--export-onnx", export_onnx,
                  "Write a copy of the --onnx file with the trained parameters to this file");
  add_output_file(
      command, "--losses", losses,
      "Write one JSON line for every step to this file: its loss, its time, and how busy processors and links were");
  add_output_file(command, "--trace", trace, "Write the last five steps as a Chrome/Perfetto trace");
  add_json_option(command, json);
}

}  // namespace sluice::cli

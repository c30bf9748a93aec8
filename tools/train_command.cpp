// sluice train: trains a model inside a fast-memory budget.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "sluice/plan/plan_file.hpp"
#include "sluice/report/chrome_trace.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/comparison.hpp"
#include "sluice/train/interrupt.hpp"
#include "sluice/train/process_memory.hpp"
#include "sluice/train/progress.hpp"
#include "sluice/train/training_loop.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/plan_output.hpp"

namespace sluice {
namespace {

constexpr std::size_t kTracedSteps = 5;  // the last ones: a trace of all would not open in a browser
constexpr std::int64_t kPrintedLines = 20;

struct Arguments {
  WorkloadArguments workload;
  MachineArguments machine;
  BudgetArguments budget;
  std::string planner = "sentinel";
  std::string plan;
  std::int64_t steps = 100;
  double learning_rate = 0.02;
  std::string schedule = "constant";
  SessionOptions session;
  std::string checkpoint, resume, trace, losses, json;
  std::int64_t checkpoint_every = 0;
};

Status check(const Arguments& arguments) {
  if (arguments.steps <= 0) {
    return Error{ErrorCode::kBadInput, fmt::format("--steps must be above 0, got {}", arguments.steps)};
  }
  if (!(arguments.learning_rate > 0)) return Error{ErrorCode::kBadInput, "--lr must be above 0"};
  if (arguments.checkpoint_every < 0) return Error{ErrorCode::kBadInput, "--checkpoint-every must not be negative"};
  if (arguments.checkpoint_every > 0 && arguments.checkpoint.empty()) {
    return Error{ErrorCode::kBadInput, "--checkpoint-every needs --checkpoint FILE"};
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
    SLUICE_ASSIGN(const auto fast, arguments.budget.size());
    SLUICE_ASSIGN(Prepared prepared, prepare(arguments.workload, arguments.machine, Probe::kUseCache));
    SLUICE_ASSIGN(Plan plan,
                  plan_workload(prepared.workload, prepared.machine, prepared.profile, arguments.planner, fast));
    return Run{std::move(prepared.workload), std::move(prepared.machine), std::move(plan)};
  }
  SLUICE_ASSIGN(Plan plan, read_plan(arguments.plan));
  SLUICE_ASSIGN(Machine machine, arguments.machine.machine());
  SLUICE_ASSIGN(const WorkloadOptions options, arguments.workload.options(machine.threads));
  SLUICE_ASSIGN(Workload workload, build_workload(options));
  SLUICE_RETURN_IF_ERROR(check_plan(workload.graph(), machine, plan));
  return Run{std::move(workload), std::move(machine), std::move(plan)};
}

// Takes notes of every step: lines on the terminal, losses to a file, the last steps for the trace.
class StepLog {
 public:
  StepLog(const Arguments& arguments, const TrainingOptions& options)
      : arguments_(arguments), options_(options), progress_("step") {
    if (!arguments.losses.empty()) losses_.open(arguments.losses, std::ios::trunc);
  }

  void note(const StepReport& report) {
    step_seconds_.push_back(report.trace.step_seconds);
    stall_seconds_.push_back(report.trace.stall_seconds);
    last_loss_ = report.loss;
    if (losses_.is_open()) {
      losses_ << nlohmann::json{{"step", report.step},
                                {"loss", report.loss},
                                {"learning_rate", report.learning_rate},
                                {"step_ms", report.trace.step_seconds * 1e3},
                                {"stall_ms", report.trace.stall_seconds * 1e3}}
              << std::endl;
    }
    if (!arguments_.trace.empty()) {
      traced_.push_back({report.step, report.trace});
      if (traced_.size() > kTracedSteps) traced_.erase(traced_.begin());
    }
    show(report);
  }

  float last_loss() const { return last_loss_; }
  Spread step_seconds() const { return spread_of(step_seconds_); }
  Spread stall_seconds() const { return spread_of(stall_seconds_); }
  bool empty() const { return step_seconds_.empty(); }
  const std::vector<TracedStep>& traced() const { return traced_; }
  bool losses_written() const { return !losses_.is_open() || losses_.good(); }

 private:
  void show(const StepReport& report) {
    const std::int64_t total = options_.end_step - options_.first_step;
    const std::int64_t done = report.step + 1 - options_.first_step;
    const std::int64_t every = std::max<std::int64_t>(1, total / kPrintedLines);
    if (done == 1 || done % every == 0 || done == total) {
      progress_.clear();
      fmt::print("step {:>6}  loss {:.6f}  {:>9}  stall {:>9}\n", report.step + 1, report.loss,
                 format_seconds(report.trace.step_seconds), format_seconds(report.trace.stall_seconds));
      std::fflush(stdout);
    }
    progress_.update(done, total, fmt::format("loss {:.4f}", report.loss));
  }

  const Arguments& arguments_;
  const TrainingOptions& options_;
  ProgressLine progress_;
  std::ofstream losses_;
  std::vector<TracedStep> traced_;
  std::vector<double> step_seconds_;
  std::vector<double> stall_seconds_;
  float last_loss_ = 0;
};

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
  fields.emplace_back("parameters", summary.parameter_hash);
  fields.emplace_back("peak resident", fmt::format("{} (fast arena {})", format_bytes(peak_resident_bytes()),
                                                   format_bytes(run.plan.arena_bytes[0])));
  if (!arguments.checkpoint.empty()) fields.emplace_back("checkpoint", arguments.checkpoint);
  fmt::print("{} step {}{}\n{}", summary.outcome.interrupted ? "interrupted before" : "done at",
             summary.outcome.next_step + (summary.outcome.interrupted ? 1 : 0),
             is_emulated(run.machine) ? ", slow memory emulated" : "", format_fields(fields));
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
  options.learning_rate = arguments.learning_rate;
  if (!arguments.resume.empty()) {
    SLUICE_ASSIGN(options.first_step, session.load_checkpoint(arguments.resume));
  }
  options.end_step = arguments.steps;
  if (!arguments.checkpoint.empty()) options.checkpoint = arguments.checkpoint;
  options.checkpoint_every = arguments.checkpoint_every;
  if (options.first_step < options.end_step) return options;
  return Error{ErrorCode::kBadInput, fmt::format("{} already holds {} steps; --steps {} counts from the start, so "
                                                 "nothing is left to do",
                                                 arguments.resume, options.first_step, arguments.steps)};
}

Result<int> run(const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(check(arguments));
  SLUICE_RETURN_IF_ERROR(parse_learning_rate_schedule(arguments.schedule));
  SLUICE_ASSIGN(Run run, obtain_run(arguments));
  fmt::print("{}\n{}", describe_graph(run.workload.graph()),
             describe_plan(run.workload.graph(), run.machine, run.plan));
  std::fflush(stdout);
  SLUICE_ASSIGN(const std::unique_ptr<Session> session,
                Session::create(run.workload, run.machine, run.plan, arguments.session));
  for (const std::string& note : session->notes()) fmt::print(stderr, "sluice: note: {}\n", note);
  SLUICE_ASSIGN(const TrainingOptions options, training_options(arguments, *session));
  Summary summary;
  StepLog log(arguments, options);
  {
    const InterruptGuard guard;
    SLUICE_ASSIGN(summary.outcome, run_training(
                                       *session, options, [&](const StepReport& report) { log.note(report); },
                                       [&] { return guard.interrupted(); }));
  }
  SLUICE_ASSIGN(summary.parameter_hash, session->hash_parameters());
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
  command->add_option("--plan", each.plan, "Obey this plan file instead of asking a planner")->check(CLI::ExistingFile);
  command->add_option("--steps", each.steps, "Train up to this step, counted from the start")->capture_default_str();
  command->add_option("--data", each.session.data, "synthetic, or cifar10:DIRECTORY")->capture_default_str();
  command->add_option("--seed", each.session.seed, "Of initial parameters, data and its order")->capture_default_str();
  command->add_option("--lr", each.learning_rate, "Base learning rate")->capture_default_str();
  command->add_option("--schedule", each.schedule, "constant, step:30,60[:0.1], cosine:100; warmup:5+ before any")
      ->capture_default_str();
  command->add_option("--checkpoint", each.checkpoint, "Write checkpoints to this file (at the end, and on Ctrl-C)");
  command->add_option("--checkpoint-every", each.checkpoint_every, "and after every so many steps");
  command->add_option("--resume", each.resume, "Go on from this checkpoint")->check(CLI::ExistingFile);
  command->add_option("--losses", each.losses, "Write one JSON line for every step to this file");
  command->add_option("--trace", each.trace, "Write the last five steps as a Chrome/Perfetto trace");
  add_json_option(*command, each.json);
  command->footer("Example: sluice train resnet20 --batch 32 --fast 30% --steps 100 --trace trace.json");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace sluice

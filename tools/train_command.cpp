// sluice train: trains a model inside a fast-memory budget.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/base/as_result.hpp"
#include "sluice/exec/ranks/mpi_ranks.hpp"
#include "sluice/memory/process_memory.hpp"
#include "sluice/policies/run_file.hpp"
#include "sluice/profile/network_times.hpp"
#include "sluice/report/bound_note.hpp"
#include "sluice/report/chrome_trace.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/plan_changes.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/overlap.hpp"
#include "sluice/report/step/plan_summary.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/sim/locality.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "sluice/train/planning/policy_run.hpp"
#include "sluice/train/rank_agreement.hpp"
#include "sluice/train/workload/onnx_workload.hpp"
#include "tools/commands.hpp"
#include "tools/output_files.hpp"
#include "tools/plan_output.hpp"
#include "tools/policy_output.hpp"
#include "tools/rank_run.hpp"
#include "tools/terminal/say.hpp"
#include "tools/train_arguments.hpp"
#include "tools/train_output.hpp"
#include "tools/train_planning.hpp"
#include "tools/variable_training.hpp"

namespace sluice::cli {
namespace {

// Where a policy moves pages for real, they take what it has of fast memory, and not the addresses of all tensors.
std::string describe_fast_memory(const Run& run) {
  const bool pages_move =
      std::holds_alternative<policies::PagesRun>(run.steps) && !run.machine.tier(policies::kSlowTier).emulated();
  return pages_move ? "fast memory " + format_bytes(policies::usable_fast_bytes(run.steps))
                    : "fast arena " + format_bytes(policies::fast_arena_bytes(run.steps));
}

// Runs the steps; on the way another plan may take over.
Status run_steps(const TrainArguments& arguments, const train::TrainingOptions& options, train::Session& session,
                 Run& run, StepLog& log, const train::InterruptGuard& guard, TrainSummary& summary) {
  SLUICE_ASSIGN(const double beyond, arguments.drift_to_replan());
  std::optional<profile::ProfileCache> cache;
  if (run.estimated) cache = arguments.machine.open_cache(run.machine);
  const auto tell = [&](const train::PlanRecord& record) {
    const std::string line = report::describe_last_change(run.machine, record);
    record.changes.back().taken() ? log.note_change(line) : log.print(line);
  };
  const std::unique_ptr<train::WatchedTraining> training = train::watch_training(
      session, run.workload, std::move(run.start), {run.machine, run.profile, run.estimated}, run.access_counts(),
      {.planner = arguments.planner.name,
       .most_trials = arguments.trials,
       .replans = arguments.plan.empty() && !arguments.no_replan,
       .beyond = beyond,
       .end_step = options.end_step,
       .cache = cache ? &*cache : nullptr,
       .on_change = tell});
  SLUICE_ASSIGN(summary.outcome, run_logged(*training, options, log, guard, arguments.session.ranks));
  run.steps = training->kept();
  run.changes = training->record();
  if (const train::Figures* now = training->present_figures(); now != nullptr && run.estimated) {
    run.baseline = train::predicted_baseline_seconds(run.workload, now->machine, now->profile);
  }
  return {};
}

// Of the last step; nothing where there was none.
std::optional<sim::Locality> last_locality(const StepLog& log, const train::Session& session) {
  if (log.empty()) return std::nullopt;
  return session.locality(log.last_step());
}

// Nothing where a policy moved what it liked.
std::optional<report::Overlap> step_overlap(const program::StepTimes& step, const train::Session& session,
                                            const memory::Machine& machine) {
  const auto parts = session.breakdown(step);
  if (!parts || step.ops.size() != session.program().compute.size()) return std::nullopt;
  return report::overlap_of(machine, session.program(), step, *parts);
}

Result<std::unique_ptr<train::Session>> open_session(Run& run, const train::SessionOptions& options) {
  const WaitingLine waiting("preparing memory and kernels");
  return train::Session::create(run.workload, run.machine, run.steps, options);
}

Result<std::int64_t> load_checkpoint(train::Session& session, const std::string& path) {
  const WaitingLine waiting(fmt::format("reading {}", path));
  return session.load_checkpoint(path);
}

Result<std::string> hash_parameters(train::Session& session) {
  const WaitingLine waiting("hashing parameters");
  return session.hash_parameters();
}

// What a budget below Sentinel's lower bound did cost; nothing for one that is not.
std::string below_bound_item(const StepLog& log, const Run& run) {
  if (log.empty() || !run.baseline || !report::bound_applies(run.plan())) return {};
  const report::Loss loss{log.step_seconds().median / *run.baseline - 1,
                          "measured, beside fast-only's predicted step,"};
  const auto why =
      report::explain_below_bound(report::bound_of(run.workload.graph()), run.plan().budgets[memory::kFastTier], loss);
  return why ? report::format_item(*why) : "";
}

// What is observed of the last step.
struct LastStep {
  std::optional<sim::Locality> locality;
  std::optional<report::Overlap> overlap;
};

void print_summary(const StepLog& log, const Run& run, const TrainSummary& summary, const TrainArguments& arguments,
                   const LastStep& last) {
  const bool better = std::ranges::any_of(run.changes.changes, &train::PlanChange::taken);
  Fields fields = summary_fields(
      log, summary, run.estimated && !better ? std::nullopt : std::optional(run.plan().predicted_step_seconds));
  if (last.locality) fields.emplace_back("locality", sim::describe_locality(last.locality->step) + " (last step)");
  if (last.overlap) fields.emplace_back("busy", report::describe_overlap(*last.overlap) + " (last step)");
  fields.emplace_back("peak resident",
                      fmt::format("{} ({})", format_bytes(memory::peak_resident_bytes()), describe_fast_memory(run)));
  if (const kernels::Ranks* ranks = arguments.session.ranks) {
    fields.emplace_back("ranks", describe_ranks(*ranks, run.workload.graph()));
  }
  if (summary.outcome.saved) fields.emplace_back("checkpoint", arguments.checkpoint);
  if (!arguments.export_onnx.empty()) fields.emplace_back("exported", arguments.export_onnx);
  if (!arguments.save_plan.empty()) fields.emplace_back("plan", arguments.save_plan);
  say("{}{}{}", describe_end(summary, run.machine, fields), below_bound_item(log, run),
      report::describe_trials(run.changes));
}

Status write_trace(const TrainArguments& arguments, const Run& run, const train::Session& session, const StepLog& log) {
  if (arguments.trace.empty()) return {};
  return report::write_json_file(arguments.trace, report::chrome_trace(session.lowered()->step(), run.machine,
                                                                       session.run(), session.program(), log.traced()));
}

Status write_plan(const TrainArguments& arguments, const Run& run) {
  if (arguments.save_plan.empty()) return {};
  return policies::write_run(arguments.save_plan, run.workload.graph(), run.steps);
}

Status write_result(const TrainArguments& arguments, const Run& run, const train::Session& session, const StepLog& log,
                    const TrainSummary& summary, const LastStep& last) {
  if (arguments.json.empty()) return {};
  nlohmann::json document = report::plan_summary_json(run.workload.graph(), run.machine, run.steps, run.baseline);
  document["notes"] = session.notes();
  add_to_json(document, log, summary);
  if (const kernels::Ranks* ranks = arguments.session.ranks) {
    document["ranks"] = {{"count", ranks->count()},
                         {"bytes_sent_a_step", profile::bytes_to_ranks(run.workload.graph())},
                         {"bytes_sent", ranks->bytes_sent()}};
  }
  if (last.locality) document["locality"] = sim::locality_json(*last.locality);
  if (last.overlap) document["overlap"] = report::overlap_json(*last.overlap);
  if (!run.figures.is_null()) document["figures"] = run.figures;
  report::add_plan_changes(document, run.machine, run.changes);
  return report::write_document(arguments.json, "train", std::move(document));
}

void print_plan(const Run& run) {
  say("{}\n{}", report::describe_graph(run.workload.graph()),
      policies::is_planned(run.steps) ? describe_plan(run.workload.graph(), run.machine, run.plan(), run.baseline)
                                      : describe_policy_run(run.machine, run.steps));
  if (run.estimated) print_notes({describe_estimates(run.profile, run.plan())});
  say_now();
}

Result<std::unique_ptr<train::Session>> begin(const TrainArguments& arguments, Run& run) {
  train::SessionOptions options = arguments.session;
  options.validate = arguments.validates();
  SLUICE_ASSIGN(std::unique_ptr<train::Session> session, open_session(run, options));
  print_notes(session->notes());
  if (!arguments.export_onnx.empty()) {
    SLUICE_RETURN_IF_ERROR(train::try_onnx_workload(run.workload.options, arguments.export_onnx));
  }
  return session;
}

// The step to begin with.
Result<std::int64_t> resume(const TrainArguments& arguments, train::Session& session) {
  if (arguments.resume.empty()) return std::int64_t{0};
  SLUICE_ASSIGN(const std::int64_t first_step, load_checkpoint(session, arguments.resume));
  if (arguments.session.ranks != nullptr)
    SLUICE_RETURN_IF_ERROR(train::check_same_step(*arguments.session.ranks, first_step));
  return first_step;
}

// What was trained is written, in the order of its worth.
Status finish(const TrainArguments& arguments, const Run& run, train::Session& session, StepLog& log,
              TrainSummary& summary) {
  Outputs outputs;
  outputs.note(summary.outcome.failure);
  if (!arguments.export_onnx.empty()) {
    outputs.note(as_result(
        [&] { return train::write_onnx_workload(run.workload.options, arguments.export_onnx, session.parameters()); }));
  }
  SLUICE_ASSIGN(summary.parameter_hash, hash_parameters(session));
  const LastStep last{last_locality(log, session),
                      log.empty() ? std::nullopt : step_overlap(log.last_step(), session, run.machine)};
  print_summary(log, run, summary, arguments, last);
  outputs.note(log.finish_losses());
  outputs.note(write_trace(arguments, run, session, log));
  outputs.note(write_plan(arguments, run));
  outputs.note(write_result(arguments, run, session, log, summary, last));
  return outputs.failure();
}

Result<int> train(const TrainArguments& arguments) {
  if (!arguments.sequences.empty()) return train_sequences(arguments);
  Run run;
  SLUICE_RETURN_IF_ERROR(make_run(arguments, run));
  print_plan(run);
  SLUICE_ASSIGN(const std::unique_ptr<train::Session> session, begin(arguments, run));
  SLUICE_ASSIGN(const std::int64_t first_step, resume(arguments, *session));
  SLUICE_ASSIGN(const train::TrainingOptions options, arguments.loop_options(first_step));
  StepLog log(!arguments.trace.empty(), options.first_step, options.end_step);
  if (!arguments.losses.empty()) SLUICE_RETURN_IF_ERROR(log.write_losses(arguments.losses));
  log.note_overlaps([&](const program::StepTimes& step) { return step_overlap(step, *session, run.machine); });
  TrainSummary summary;
  const train::InterruptGuard guard;  // until all is written
  SLUICE_RETURN_IF_ERROR(run_steps(arguments, options, *session, run, log, guard, summary));
  SLUICE_RETURN_IF_ERROR(finish(arguments, run, *session, log, summary));
  return summary.outcome.interrupted ? kExitInterrupted : kExitOk;
}

Result<int> settle_and_train(kernels::Ranks* ranks, TrainArguments& arguments) {
  SLUICE_RETURN_IF_ERROR(arguments.check());
  SLUICE_RETURN_IF_ERROR(settle_ranks(ranks, arguments));
  return train(arguments);
}

// A rank that fails ends the others, which would wait for it.
void end_ranks(const kernels::Ranks& ranks, const std::string& message, int exit_code) {
  print_error(fmt::format("rank {} of {}: {}", ranks.rank(), ranks.count(), message));
  exec::end_all_ranks(exit_code);
}

Result<int> run_train(TrainArguments arguments) {
  SLUICE_ASSIGN(const std::unique_ptr<kernels::Ranks> ranks, exec::open_mpi_ranks());
  if (ranks == nullptr) return settle_and_train(nullptr, arguments);
  try {
    Result<int> done = settle_and_train(ranks.get(), arguments);
    if (!done.ok()) end_ranks(*ranks, done.error().message, exit_code_of(done.error().code));
    return done;
  } catch (const std::exception& failure) {  // here, before the ranks are left: leaving waits for all of them
    end_ranks(*ranks, failure.what(), kExitFailed);
    throw;
  }
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", "Train a model inside a fast-memory budget");
  auto arguments = std::make_shared<TrainArguments>();
  arguments->add_to(*command);
  command->footer("Example: sluice train resnet20 --batch 32 --fast 30% --steps 100 --trace trace.json");
  command->callback([arguments, &action] { action = [arguments] { return run_train(*arguments); }; });
}

}  // namespace sluice::cli

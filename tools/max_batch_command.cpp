// sluice max-batch: the largest batch that a planner can train in a budget.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "sluice/base/progress/progress.hpp"
#include "sluice/base/spread.hpp"
#include "sluice/data/input_tensors.hpp"
#include "sluice/experiment/max_batch.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/interrupt.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/planner_arguments.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct MaxBatchArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  PlannerArguments planner;
  std::string fast;
  bool run = false;
  int steps = 4;
  std::string json;
};

// What was measured at one batch size. Kept in one place: profiles refer to graphs.
struct Measured {
  std::int64_t batch = 0;
  train::Workload workload;
  profile::Profile profile;
};

Result<std::vector<Measured>> measure_sizes(const MaxBatchArguments& arguments, const train::WorkloadOptions& options,
                                            const memory::Machine& machine) {
  constexpr std::int64_t kLargestMeasured = 16;
  const std::int64_t largest = std::clamp<std::int64_t>(options.shape.batch, 4, kLargestMeasured);
  profile::ProfileCache cache = arguments.machine.open_cache(machine);
  std::vector<Measured> measured;
  for (const std::int64_t batch : {largest / 4, largest / 2, largest}) {
    train::WorkloadOptions sized = options;
    sized.shape.batch = batch;
    ProgressLine progress(fmt::format("measuring ops at batch {}", batch));
    SLUICE_ASSIGN(train::Workload workload, train::build_workload(sized));
    SLUICE_ASSIGN(
        profile::Profile profile,
        measure::measure_profile(*workload.compiled, machine, cache,
                                 {.on_progress = [&](int done, int total) { progress.update(done, total); }}));
    measured.push_back({batch, std::move(workload), std::move(profile)});
  }
  return measured;
}

experiment::BatchTimes times_of(const std::vector<Measured>& measured) {
  std::vector<experiment::MeasuredBatch> sizes;
  for (const Measured& each : measured) sizes.push_back({each.batch, each.workload.graph(), each.profile});
  return experiment::BatchTimes(sizes);
}

std::string trials_table(const experiment::MaxBatch& found) {
  report::TextTable table({{"batch", report::Align::kRight, 0},
                           {"everything", report::Align::kRight, 0},
                           {"fits", report::Align::kLeft, 0}});
  for (const experiment::BatchTrial& trial : found.trials) {
    table.add_row({fmt::format("{}", trial.batch), format_bytes(trial.everything), trial.fits ? "yes" : "no"});
  }
  return table.text();
}

nlohmann::json trials_json(const experiment::MaxBatch& found) {
  nlohmann::json trials = nlohmann::json::array();
  for (const experiment::BatchTrial& trial : found.trials) {
    trials.push_back({{"batch", trial.batch},
                      {"everything_bytes", trial.everything},
                      {"fits", trial.fits},
                      {"reason", trial.failure ? trial.failure->message : ""}});
  }
  return trials;
}

// Median of the steps behind the first two.
Result<Seconds> run_steps(train::Workload& workload, const memory::Machine& machine, const plan::Plan& plan,
                          int steps) {
  SLUICE_ASSIGN(const auto session, train::Session::create(workload, machine, plan, {}));
  std::vector<double> seconds;
  ProgressLine progress("step");
  for (int step = 0; step < steps + 2; ++step) {
    SLUICE_ASSIGN(const train::StepOutcome outcome, session->run_step(step, 0.01F));
    progress.update(step + 1, steps + 2);
    if (step >= 2) seconds.push_back(outcome.trace.step_seconds);
  }
  return spread_of(seconds).median;
}

// What the search needs, and what this machine really has.
struct Question {
  experiment::MaxBatchOptions search;
  Bytes there_is = 0;  // of fast memory
  std::vector<Measured> measured;
  experiment::BatchTimes times;

  bool beyond_this_machine() const { return search.fast > there_is; }
};

Result<Question> prepare_question(const MaxBatchArguments& arguments) {
  SLUICE_RETURN_IF_ERROR(arguments.planner.check());
  experiment::MaxBatchOptions search;
  search.planner = arguments.planner.name;
  SLUICE_ASSIGN(search.fast, parse_bytes(arguments.fast));
  if (arguments.steps < 1) return bad_input(fmt::format("--steps must be above 0, got {}", arguments.steps));
  SLUICE_ASSIGN(const int threads, arguments.machine.thread_count());
  SLUICE_ASSIGN(search.workload, arguments.workload.options(threads));
  if (arguments.machine.gpu) search.workload.backend = "cuda";
  SLUICE_ASSIGN(const train::ForwardModel forward, train::build_forward(search.workload));
  search.workload.shape.batch = data::batch_size(forward.graph);
  SLUICE_ASSIGN(search.machine, arguments.machine.machine());
  profile::ProfileCache cache = arguments.machine.open_cache(search.machine);
  SLUICE_RETURN_IF_ERROR(probe_with_progress(search.machine, cache, experiment::Probe::kUseCache));
  SLUICE_ASSIGN(std::vector<Measured> measured, measure_sizes(arguments, search.workload, search.machine));
  experiment::BatchTimes times = times_of(measured);
  Bytes& capacity = search.machine.tiers.front().capacity;
  const Bytes there_is = capacity;
  capacity = std::max(capacity, search.fast);
  return Question{std::move(search), there_is, std::move(measured), std::move(times)};
}

Result<experiment::MaxBatch> look_for(const Question& question) {
  const train::InterruptGuard guard;
  ProgressLine progress("looking for the largest batch");
  std::int64_t tried = 0;
  const auto report = [&](const experiment::BatchTrial& trial) {
    constexpr std::int64_t kUsualTrials = 14;
    ++tried;
    progress.update(tried, std::max(kUsualTrials, tried + 1), fmt::format("batch {}", trial.batch));
  };
  return experiment::find_max_batch(question.search, question.times, report, [&] { return guard.interrupted(); });
}

// The largest batch, planned with all of the planner's effort.
struct Answer {
  std::int64_t batch = 0;
  train::Workload workload;
  plan::Plan plan;

  double samples_per_second(Seconds step) const { return static_cast<double>(batch) / step; }
};

Result<Answer> plan_largest(const Question& question, const PlannerArguments& planner, std::int64_t batch) {
  train::WorkloadOptions options = question.search.workload;
  options.shape.batch = batch;
  SLUICE_ASSIGN(train::Workload workload, train::build_workload(options));
  const profile::Profile profile = question.times.at(workload.graph(), batch, question.search.machine);
  const AttendedPlanning attended(planner);
  SLUICE_ASSIGN(plan::Plan plan,
                train::plan_workload(workload, question.search.machine, profile, question.search.planner,
                                     {.size = MemorySize{question.search.fast}}, nullptr, attended.watch()));
  return Answer{batch, std::move(workload), std::move(plan)};
}

void print_answer(const Question& question, const Answer& answer) {
  const experiment::MaxBatchOptions& search = question.search;
  say("\n{} trains {} with batch {} in {}{}\n", search.planner, answer.workload.forward.name, answer.batch,
      format_bytes(search.fast),
      question.beyond_this_machine()
          ? fmt::format(" (this machine has {}: predicted only)", format_bytes(question.there_is))
          : "");
  say("predicted: {} a step, {:.1f} samples a second (op times scaled from batches {} to {}; what the smaller "
      "ones promise for {} is {:+.1f} % off)\n",
      format_seconds(answer.plan.predicted_step_seconds), answer.samples_per_second(answer.plan.predicted_step_seconds),
      question.measured.front().batch, question.measured.back().batch, question.measured.back().batch,
      100 * question.times.error());
}

nlohmann::json answer_json(const Question& question, const experiment::MaxBatch& found, const Answer& answer) {
  const Seconds predicted = answer.plan.predicted_step_seconds;
  return {{"model", answer.workload.forward.name},
          {"planner", question.search.planner},
          {"fast_bytes", question.search.fast},
          {"batch", answer.batch},
          {"everything_bytes", planners::fast_only_bytes(answer.workload.graph())},
          {"predicted_ms", predicted * 1e3},
          {"predicted_samples_per_second", answer.samples_per_second(predicted)},
          {"scaling_error", question.times.error()},
          {"trials", trials_json(found)},
          {"measured_ms", nullptr},
          {"run", report::run_record(question.search.machine)}};
}

Result<Seconds> confirm(const Question& question, Answer& answer, int steps) {
  if (question.beyond_this_machine()) {
    return Error{ErrorCode::kInfeasible,
                 fmt::format("--run: this machine has {} of fast memory, not {}", format_bytes(question.there_is),
                             format_bytes(question.search.fast)),
                 question.search.fast, question.there_is};
  }
  SLUICE_ASSIGN(const Seconds seconds, run_steps(answer.workload, question.search.machine, answer.plan, steps));
  say("executed: {} a step, {:.1f} samples a second; the prediction is {:+.1f} % off\n", format_seconds(seconds),
      answer.samples_per_second(seconds), 100 * (answer.plan.predicted_step_seconds / seconds - 1));
  return seconds;
}

// Why not even one sample fits.
Error nothing_fits(const Question& question, const experiment::BatchTrial& last) {
  const experiment::MaxBatchOptions& search = question.search;
  train::WorkloadOptions options = search.workload;
  options.shape.batch = last.batch;
  const Result<train::Workload> workload = train::build_workload(options);
  if (!workload.ok()) return workload.error();
  const profile::Profile profile = question.times.at(workload->graph(), last.batch, search.machine);
  Error why = advised(*workload, search.machine, profile, search.planner, {.size = MemorySize{search.fast}}, nullptr,
                      *last.failure);
  why.message =
      fmt::format("{} cannot train a single sample in {}: {}", search.planner, format_bytes(search.fast), why.message);
  why.available_bytes = search.fast;
  return why;
}

Result<int> run_max_batch(const MaxBatchArguments& arguments) {
  SLUICE_ASSIGN(const Question question, prepare_question(arguments));
  SLUICE_ASSIGN(const experiment::MaxBatch found, look_for(question));
  say("{}", trials_table(found));
  if (found.batch == 0) return nothing_fits(question, found.trials.back());
  SLUICE_ASSIGN(Answer answer, plan_largest(question, arguments.planner, found.batch));
  print_answer(question, answer);
  nlohmann::json document = answer_json(question, found, answer);
  if (arguments.run) {
    SLUICE_ASSIGN(const Seconds seconds, confirm(question, answer, arguments.steps));
    document["measured_ms"] = seconds * 1e3;
  }
  if (!arguments.json.empty()) {
    SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "max-batch", std::move(document)));
  }
  return kExitOk;
}

}  // namespace

void add_max_batch_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("max-batch", "Find the largest batch that can be trained in a budget");
  auto arguments = std::make_shared<MaxBatchArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  arguments->planner.add_to(*command);
  command->add_option("--fast", arguments->fast, "Budget of the fast tier, such as 11GiB")
      ->type_name("SIZE")
      ->required();
  command->add_flag("--run", arguments->run, "Confirm by a few steps, where this machine has the memory");
  command->add_option("--steps", arguments->steps, "With --run: steps, behind two of warm-up")->capture_default_str();
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice max-batch resnet20 --fast 64MiB --planner joint --run");
  command->callback([arguments, &action] { action = [arguments] { return run_max_batch(*arguments); }; });
}

}  // namespace sluice::cli

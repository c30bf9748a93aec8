// sluice sweep: slowdown over fast budgets, for several models and planners.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "sluice/base/progress/progress.hpp"
#include "sluice/experiment/sweep.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/sweep/sweep_json.hpp"
#include "sluice/report/sweep/sweep_text.hpp"
#include "sluice/train/interrupt.hpp"
#include "tools/chart_output.hpp"
#include "tools/commands.hpp"
#include "tools/output_files.hpp"
#include "tools/sweep_arguments.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

std::string swept_name(const WorkloadArguments& workload) {
  return workload.onnx.empty() ? workload.model : std::filesystem::path(workload.onnx).stem().string();
}

// Goes from point to point and keeps every finished one on disk.
class Sweep {
 public:
  Sweep(const SweepArguments& arguments, const SweepRequest& request)
      : arguments_(arguments), request_(request), progress_("sweeping") {
    const auto rounds = arguments.run ? request.comparison.steps.value_or(0) : 0;
    const auto planners = std::ssize(request.planners);
    const auto budgets = request.no_loss ? planners : std::ssize(request.budgets);
    total_ = std::ssize(request.workloads) * budgets * ((request.no_loss ? 1 : planners) + rounds);
  }

  Result<int> run() {
    for (const WorkloadArguments& workload : request_.workloads) {
      progress_.clear();
      SLUICE_ASSIGN(Prepared prepared, prepare(workload, arguments_.machine, experiment::Probe::kUseCache));
      SLUICE_RETURN_IF_ERROR(add_implementations(prepared, arguments_.machine, request_.planners));
      record_ = report::run_record(prepared.machine);
      emulated_ = report::is_emulated(prepared.machine);
      experiment::BudgetSweep sweep(prepared.workload, prepared.machine, prepared.profile);
      models_.push_back(sweep.begin(swept_name(workload)));
      models_.back().prices = request_.prices;
      models_.back().allowed_loss = request_.within;
      const Status swept = request_.no_loss ? find_no_loss(sweep) : sweep_budgets(sweep);
      if (!swept.ok() && swept.error().code != ErrorCode::kInterrupted) return swept.error();
      progress_.clear();
      if (!request_.no_loss) tell(report::describe_sweep(models_.back()) + "\n");
      say_now();
      if (!swept.ok()) return finish(false);
    }
    return finish(true);
  }

 private:
  Status sweep_budgets(experiment::BudgetSweep& sweep) {
    experiment::SweptModel& swept = models_.back();
    for (const Bytes budget : rising_budgets(swept.whole)) {
      const std::size_t first = swept.points.size();
      for (const std::string& planner : request_.planners) {
        SLUICE_RETURN_IF_ERROR(begin_point(planner));
        swept.points.push_back(sweep.predict(planner, budget, true));
        end_point();
      }
      SLUICE_RETURN_IF_ERROR(measure_by_plan(sweep, std::span(swept.points).subspan(first)));
    }
    return {};
  }

  // A plan for less memory is a plan for more, so the smallest comes first.
  std::vector<Bytes> rising_budgets(Bytes whole) const {
    std::vector<Bytes> budgets;
    for (const MemorySize& size : request_.budgets) budgets.push_back(size.resolve(whole));
    std::ranges::sort(budgets);
    return budgets;
  }

  // Together what is planned for one budget, beside one baseline.
  Status measure_by_plan(const experiment::BudgetSweep& sweep, std::span<experiment::SweepPoint> points) {
    std::map<Bytes, std::vector<experiment::SweepPoint*>> by_plan;
    for (experiment::SweepPoint& point : points) by_plan[point.planned_for].push_back(&point);
    for (auto& [budget, together] : by_plan) SLUICE_RETURN_IF_ERROR(measure(sweep, together));
    return {};
  }

  Status find_no_loss(experiment::BudgetSweep& sweep) {
    experiment::SweptModel& swept = models_.back();
    for (const std::string& planner : request_.planners) {
      SLUICE_RETURN_IF_ERROR(begin_point(planner));
      swept.no_loss.push_back(sweep.find_no_loss(planner, *request_.no_loss, [&](int tried, int at_most) {
        progress_.update(done_, total_,
                         fmt::format("{} {}: budget {} of at most {}", models_.back().model, planner, tried, at_most));
      }));
      end_point();
      experiment::SweepPoint* const found = &swept.no_loss.back().point;
      SLUICE_RETURN_IF_ERROR(measure(sweep, {&found, 1}));
    }
    return {};
  }

  Status measure(const experiment::BudgetSweep& sweep, std::span<experiment::SweepPoint* const> points) {
    if (!arguments_.run) return {};
    const auto show = [&](std::string_view what, std::int64_t done, std::int64_t) {
      progress_.update(done_ + done, total_, fmt::format("{} {} {}", models_.back().model, what, done + 1));
    };
    SLUICE_RETURN_IF_ERROR(sweep.measure(points, request_.comparison, show, [&] { return guard_.interrupted(); }));
    done_ += arguments_.steps;
    keep();
    return {};
  }

  Status begin_point(const std::string& planner) {
    if (guard_.interrupted()) return Error{ErrorCode::kInterrupted, "interrupted"};
    progress_.update(done_, total_, fmt::format("{} {}", models_.back().model, planner));
    return {};
  }

  void end_point() {
    ++done_;
    keep();
  }

  // A file holds what is finished so far; standard output gets the document once. Where it cannot be written now, the next
  // point's trial has this one too.
  void keep() {
    if (arguments_.json == report::kStandardOutput) return;
    const Status kept = write(false);
    if (kept.ok() || kept_failed_) return;
    kept_failed_ = true;
    progress_.clear();
    print_error(kept.error().message + "; the sweep goes on");
  }

  Status write(bool complete) const { return report::write_document(arguments_.json, "sweep", document(complete)); }

  nlohmann::json document(bool complete) const {
    return {{"run", record_},
            {"complete", complete},
            {"measured_steps", arguments_.run ? arguments_.steps : 0},
            {"warmup_steps", arguments_.run ? experiment::kWarmupRounds : 0},
            {"models", report::sweep_json(models_)}};
  }

  void tell(const std::string& text) {
    say("{}", text);
    told_ += text;
  }

  Result<int> finish(bool complete) {
    if (request_.no_loss) tell(report::describe_no_loss(models_) + "\n");
    tell(fmt::format("predicted: {}\n", report::provenance_text(emulated_)));
    Outputs outputs;
    outputs.note(write(complete));
    outputs.note(write_charts(arguments_.html, {"sweep", fmt::format("Sweep of {}", fmt::join(arguments_.models, ", ")),
                                                told_, document(complete)}));
    SLUICE_RETURN_IF_ERROR(outputs.failure());
    if (!complete) print_error("interrupted; what was finished is above and in the files asked for");
    return complete ? kExitOk : kExitInterrupted;
  }

  const SweepArguments& arguments_;
  const SweepRequest& request_;
  const train::InterruptGuard guard_;
  ProgressLine progress_;
  std::int64_t done_ = 0, total_ = 0;
  nlohmann::json record_;
  bool emulated_ = false;
  std::vector<experiment::SweptModel> models_;
  std::string told_;          // what was printed
  bool kept_failed_ = false;  // which was told
};

Result<int> run_sweep(const SweepArguments& arguments) {
  SLUICE_ASSIGN(const SweepRequest request, arguments.request());
  return Sweep(arguments, request).run();
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("sweep", "Show slowdown over fast memory, or how little costs nothing");
  auto arguments = std::make_shared<SweepArguments>();
  arguments->add_to(*command);
  command->footer(
      "Example: sluice sweep resnet50:16 mobilenet_v2:16 --planners sentinel,on-demand --fast 20%,40%,60%\n"
      "         sluice sweep resnet50:16 --slow optane --planners joint,autotm-sync --price fast=16.61,slow=7.85 "
      "--html sweep.html\n"
      "         sluice sweep resnet20 resnet32 resnet110 --batch 128 --no-loss --html sweep.html");
  command->callback([arguments, &action] { action = [arguments] { return run_sweep(*arguments); }; });
}

}  // namespace sluice::cli

#include "sluice/report/page/collect_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/experiment/step_prediction.hpp"
#include "sluice/experiment/sweep.hpp"
#include "sluice/memory/machine_json.hpp"
#include "sluice/planners/bound/any_order_bound.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/report/comparison_json.hpp"
#include "sluice/report/describe_graph.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/page/memory_over_step.hpp"
#include "sluice/report/page/slot_times.hpp"
#include "sluice/report/page/tensor_lives.hpp"
#include "sluice/report/page/timeline_bars.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/plan_summary.hpp"
#include "sluice/report/sweep/sweep_json.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "sluice/train/planning/policy_run.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestShown = 25;
constexpr Bytes kMore = kGiB;  // what the report asks about

class ReportCollector {
 public:
  ReportCollector(const train::Workload& workload, const memory::Machine& machine, const profile::Profile& profile,
                  const profile::AccessProfile* accesses, const ReportRequest& request, const ReportProgress& progress,
                  const std::function<bool()>& stop)
      : workload_(workload),
        machine_(machine),
        profile_(profile),
        accesses_(accesses),
        request_(request),
        progress_(progress),
        stop_(stop),
        sweep_(workload, machine, profile, accesses) {
    const auto planners = std::ssize(request.planners);
    const auto curves = planners - std::ranges::count(request.planners, planners::kBaselinePlanner);
    total_ = 2 + (request.run ? 1 : planners) + curves * std::ssize(request.shares);
  }

  Result<json> collect() {
    begin("planning by " + request_.planner);
    SLUICE_RETURN_IF_ERROR(add_plan());
    add_machine();
    SLUICE_RETURN_IF_ERROR(add_comparison());
    add_more_memory();
    add_curve();
    document_["complete"] = !stop_();
    return stamped_document("report", std::move(document_));
  }

 private:
  const graph::Graph& graph() const { return workload_.graph(); }

  void begin(const std::string& what) { progress_(what, done_++, total_); }

  Status add_plan() {
    SLUICE_RETURN_IF_ERROR(train::check_is_planner(request_.planner));
    SLUICE_ASSIGN(policies::Run run, run_of(request_.planner));
    plan_ = std::get<plan::Plan>(std::move(run));
    if (stop_()) return Error{ErrorCode::kInterrupted, "interrupted before there was a plan to report on"};
    planners::certify(graph(), profile_, machine_, plan_, planners::kBoundSeconds);
    planners::certify_any_order(graph(), profile_, machine_, plan_, planners::kBoundSeconds);
    SLUICE_ASSIGN(const sim::PlannedStep step, sim::PlannedStep::make(graph(), profile_, machine_, plan_));
    SLUICE_ASSIGN(const experiment::StepPrediction prediction, experiment::predict_step(step, plan_, machine_));
    baseline_ = train::predicted_baseline_seconds(workload_, machine_, profile_);
    document_["plan"] = plan_summary_json(graph(), machine_, plan_, baseline_);
    const auto worth = planners::worth_by_prices(graph(), profile_, machine_, plan_);
    if (worth) document_["plan"]["worth"] = worth_json(graph(), plan_, *worth);
    document_["step"] = prediction_json(prediction);
    document_["step"]["fast_only_ms"] = baseline_ * 1e3;
    const std::vector<double> slots = slot_times_ms(prediction.timeline);
    document_["memory"] = memory_over_step_json(step.step(), machine_, plan_, slots);
    document_["timeline"] = timeline_json(step.step(), machine_, plan_, step.program(), prediction.timeline);
    document_["tensors"] = tensor_lives_json(step.step(), machine_, plan_, slots);
    document_["largest"] = largest_tensors_json(document_["tensors"], kLargestShown);
    return {};
  }

  void add_machine() {
    document_["title"] = describe_graph(graph());
    document_["emulated"] = emulation_note(machine_);
    document_["run"] = run_record(machine_);
    document_["machine"] = memory::machine_to_json(machine_);
    document_["how_measured"] = request_.how_measured;
    document_["commands"] = json::array();
    for (const ReportCommand& each : request_.commands) {
      document_["commands"].push_back({{"what", each.what}, {"command", each.command}});
    }
  }

  Status add_comparison() {
    if (!request_.run) {
      predict_planners();
      return {};
    }
    experiment::ComparisonOptions options = request_.comparison;
    options.planners = request_.planners;
    options.fast = request_.fast;
    const auto show = [&](std::string_view what, std::int64_t round, std::int64_t rounds) {
      progress_(fmt::format("running planners: {} {}/{}", what, round, rounds), done_, total_);
    };
    const Result<experiment::ComparisonResult> result =
        experiment::compare_planners(workload_, machine_, profile_, options, show, stop_);
    ++done_;
    if (!result.ok()) return not_run(result.error());
    document_["comparison"] = comparison_json({graph(), machine_, request_.fast_text}, *result);
    document_["comparison"]["executed"] = true;
    document_["comparison"]["same_bits"] = result->same_bits();
    return {};
  }

  // What is planned stays: planners are predicted where the baseline cannot run here, and left out after an interruption.
  Status not_run(const Error& why) {
    if (why.code != ErrorCode::kInterrupted && !wants_more_room(why.code)) return why;
    predict_planners();
    document_["comparison"]["not_run"] = why.message;
    return {};
  }

  // The fields of a comparison, as far as they can be predicted.
  void predict_planners() {
    json rows = json::array();
    for (const std::string& planner : request_.planners) {
      begin("planning by " + planner);
      if (stop_()) break;
      const Result<json> row = predicted_row(planner);
      rows.push_back(row.ok() ? *row : json{{"planner", planner}, {"infeasible", row.error().message}});
    }
    document_["comparison"] = {{"executed", false}, {"results", rows}};
  }

  Result<json> predicted_row(const std::string& planner) {
    policies::Run run = plan_;
    if (planner != request_.planner) {
      SLUICE_ASSIGN(run, run_of(planner));
      if (auto* plan = std::get_if<plan::Plan>(&run)) {
        planners::certify(graph(), profile_, machine_, *plan, planners::kBoundSeconds);
      }
    }
    const plan::Plan& plan = policies::plan_of(run);
    SLUICE_ASSIGN(const sim::PlannedStep step, sim::PlannedStep::make(graph(), profile_, machine_, plan));
    SLUICE_ASSIGN(const experiment::StepPrediction prediction, experiment::predict_step(step, run, machine_));
    const experiment::MovedBytes moved = prediction.moved(machine_);
    return json{{"planner", planner},
                {"predicted_ms", prediction.step_seconds() * 1e3},
                {"predicted_slowdown", prediction.step_seconds() / baseline_},
                {"stall_ms", prediction.stall_seconds() * 1e3},
                {"order_bound_ms", plan.order_bound_seconds * 1e3},
                {"lower_bound_ms", plan.lower_bound_seconds * 1e3},
                {"bytes_in", moved.in},
                {"bytes_out", moved.out},
                {"fast_budget_bytes", policies::usable_fast_bytes(run)},
                {"fast_arena_bytes", policies::fast_arena_bytes(run)},
                {"predicted_parts_ms", prediction.parts ? sim::breakdown_json(*prediction.parts) : json()}};
  }

  Result<policies::Run> run_of(const std::string& planner) {
    const auto watch = std::make_shared<const planners::PlanningWatch>(planners::PlanningWatch{.stop = stop_});
    Result<policies::Run> run =
        train::plan_run(workload_, machine_, profile_, planner, request_.fast, accesses_, watch);
    if (run.ok()) return run;
    return advised(workload_, machine_, profile_, planner, request_.fast, accesses_, run.error());
  }

  void add_curve() {
    experiment::SweptModel swept = sweep_.begin(graph().name);
    for (const double share : request_.shares) {
      for (const std::string& planner : request_.planners) {
        if (planner == planners::kBaselinePlanner) continue;  // it needs everything
        begin(fmt::format("step time with {:.0f} % of the memory, {}", 100 * share, planner));
        if (stop_()) break;
        const auto budget = share_of(share, swept.whole);
        swept.points.push_back(sweep_.predict(planner, budget, planner == request_.planner));
      }
    }
    if (!swept.points.empty()) document_["sweep"] = {{"run", document_["run"]}, {"models", sweep_json({&swept, 1})}};
  }

  // What the next size of memory chip or card would buy.
  void add_more_memory() {
    begin(fmt::format("what {} more would buy", format_bytes(kMore)));
    const Bytes budget = plan_.budgets.at(memory::kFastTier);
    const Bytes everything = sweep_.begin(graph().name).whole;
    json more{{"from_bytes", budget}, {"more_bytes", kMore}, {"to_bytes", std::min(budget + kMore, everything)}};
    if (stop_()) return;
    memory::Machine larger = machine_;
    larger.tiers[memory::kFastTier].capacity += kMore;
    const experiment::SweepPoint point = experiment::BudgetSweep(workload_, larger, profile_, accesses_)
                                             .predict(request_.planner, std::min(budget + kMore, everything));
    more["now_ms"] = plan_.predicted_step_seconds * 1e3;
    if (point.feasible()) {
      const double then = std::min(point.step_seconds, plan_.predicted_step_seconds) * 1e3;
      more["predicted_ms"] = then;
      more["saves_ms"] = more["now_ms"].get<double>() - then;
    } else {
      more["infeasible"] = point.failure;
    }
    document_["more_memory"] = more;
  }

  const train::Workload& workload_;
  const memory::Machine& machine_;
  const profile::Profile& profile_;
  const profile::AccessProfile* accesses_;
  const ReportRequest& request_;
  const ReportProgress& progress_;
  const std::function<bool()>& stop_;
  experiment::BudgetSweep sweep_;
  plan::Plan plan_;
  Seconds baseline_ = 0;
  std::int64_t done_ = 0, total_ = 0;
  json document_ = json::object();
};

}  // namespace

Result<json> collect_report(const train::Workload& workload, const memory::Machine& machine,
                            const profile::Profile& profile, const profile::AccessProfile* accesses,
                            const ReportRequest& request, const ReportProgress& progress,
                            const std::function<bool()>& stop) {
  return ReportCollector(workload, machine, profile, accesses, request, progress, stop).collect();
}

}  // namespace sluice::report

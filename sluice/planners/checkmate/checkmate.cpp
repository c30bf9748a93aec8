// checkmate (Jain, Jain, Nrusimha, Gholami, Abbeel, Keutzer, Stoica, Gonzalez, "Checkmate: Breaking the Memory Wall with
// Optimal Tensor Rematerialization", MLSys 2020): what is made again, and when, by integer programming. Everything stays
// in the fast tier. docs/planners/checkmate.md says what is the paper's and what is ours.
//
//   node_grouping    ops to nodes               remat_program    the program (section 4)
//   remat_problem    what runs cost and need    remat_rounding   its relaxation to runs that fit (section 5)
//
// The answer is an order of ops, which is packed as every plan is; where it does not pack, the program is solved again
// for a little less memory.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "sluice/graph/liveness.hpp"
#include "sluice/planners/checkmate/node_grouping.hpp"
#include "sluice/planners/checkmate/remat_rounding.hpp"
#include "sluice/planners/checkmate/remat_search.hpp"
#include "sluice/planners/feature_maps/feature_maps.hpp"
#include "sluice/planners/interruption.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {
namespace {

constexpr int kMostSolved = 6;
constexpr double kTrades[] = {0.5, 1, 2};  // of search_remat_runs()
constexpr double kLessCapacity = 0.98;     // than in the round before, at least

struct CheckmateConfig {
  Seconds seconds = 60;
  double gap = 0.01;
  int nodes = 80;
  int exact = 40;
  int branches = 200;
  int seed = 0;
};

const Settings& checkmate_settings() {
  using Config = CheckmateConfig;
  static const Settings all{
      Config{},
      {setting<&Config::seconds>({"seconds", "for the solver, each time it is asked", "ours", 0.001, 1e6}),
       setting<&Config::gap>({"gap", "good enough: an answer within this share of the bound", "ours", 0, 1}),
       setting<&Config::nodes>({"nodes",
                                "of the program at most: neighbouring ops are put together until there are so few",
                                "ours", 2, 1e4}),
       setting<&Config::exact>(
           {"exact", "nodes of the largest program that is branched on; the relaxation of larger ones is rounded",
            "ours; rounding: section 5", 0, 1e4}),
       setting<&Config::branches>({"branches", "of branch and bound", "ours", 0, 1e9}),
       setting<&Config::seed>({"seed", "of what the solver decides by lot", "ours", 0, 1e9})}};
  return all;
}

// Everything in fast memory, in this order.
Result<plan::Plan> plan_in_order(const PlanRequest& request, const std::vector<graph::OpIndex>& order,
                                 plan::PackingFailure* failure = nullptr) {
  const RescheduledRequest step(request, order);
  const plan::PlanBuilder builder = everything_fast(step.request().graph, request.machine);
  SLUICE_ASSIGN(plan::Plan plan, builder.finish(request.budgets, failure,
                                                request.draft ? memory::kPortfolioAlone : memory::kPackingEffort));
  return step.for_given_graph(std::move(plan));
}

class Checkmate {
 public:
  explicit Checkmate(const PlanRequest& request)
      : request_(request),
        config_(config_of<CheckmateConfig>(request)),
        step_(group_into_nodes(request, config_.nodes)),
        exact_(step_.problem.stages() <= config_.exact) {}

  Result<plan::Plan> run() {
    Result<plan::Plan> plan = plan_of(no_repetitions(step_.problem));
    if (plan.ok()) {
      plan->solver_status = "optimal";  // nothing runs twice
      return plan;
    }
    for (int round = 1; round <= kMostSolved; ++round) {
      if (!wants_more_room(plan.error().code)) return plan;
      const std::optional<RematRuns> runs = answer();
      if (!runs) break;
      plan = plan_of(*runs);
      if (plan.ok()) {
        describe_in(*plan, *runs, round);
        return plan;
      }
      shrink();
    }
    return without_plan();
  }

 private:
  // Of these nodes: finer ones, and orders that it does not consider, may fit.
  Error without_plan() const {
    const bool no_answer = !request_.draft && solution_.values.empty();
    const bool out_of_time = no_answer && solution_.status == SolveStatus::kTimeLimit;
    const bool stopped = no_answer && solution_.status == SolveStatus::kStopped;
    return {out_of_time ? ErrorCode::kOutOfTime
            : stopped   ? request_.why_stopped()
                        : ErrorCode::kNoneFound,
            fmt::format("checkmate: no order of {} packs into {} of fast memory{}", request_.graph.name,
                        format_bytes(request_.budgets[memory::kFastTier]),
                        no_answer ? fmt::format(" ({})", describe(solution_)) : "")};
  }

  Result<plan::Plan> plan_of(const RematRuns& runs) { return plan_in_order(request_, step_.schedule(runs), &failure_); }

  // By what was missing.
  void shrink() {
    const double budget = static_cast<double>(request_.budgets[memory::kFastTier]);
    const double missed = budget / std::max(1.0, static_cast<double>(failure_.needed));
    step_.problem.capacity = share_of(std::clamp(missed, 0.9, kLessCapacity), step_.problem.capacity);
  }

  SolveLimits limits() const {
    return {.seconds = config_.seconds,
            .nodes = config_.branches,
            .columns = exact_ ? std::numeric_limits<int>::max() : 0,
            .dives = 0,
            .gap = config_.gap,
            .seed = config_.seed};
  }

  // The cheapest found without a program. Not stopped: it is quick.
  std::optional<RematRuns> first_runs() const {
    const RematProblem& problem = step_.problem;
    std::optional<RematRuns> best = runs_by_leaving_out(problem);
    for (const double trade : kTrades) {
      std::optional<RematRuns> found = search_remat_runs(problem, trade);
      if (!found) continue;
      if (!best || run_seconds(problem, *found) < run_seconds(problem, *best)) best = std::move(found);
    }
    return best;
  }

  // Runs that fit into the capacity, by count of bytes. A draft is content with the first ones.
  std::optional<RematRuns> answer() {
    const RematProblem& problem = step_.problem;
    const std::optional<RematRuns> start = first_runs();
    if (request_.draft) return start;
    const RematProgram program(problem);
    if (request_.watch && request_.watch->program) request_.watch->program(program.ilp());
    solution_ = solve(program.ilp(), limits(), start ? program.values_of(*start) : std::vector<double>{},
                      watch(program), [&](const std::vector<double>& relaxed) {
                        const std::optional<RematRuns> rounded = round_kept(problem, program, relaxed);
                        return rounded ? program.values_of(*rounded) : std::vector<double>{};
                      });
    columns_ = program.ilp().columns.size();
    rows_ = program.ilp().rows.size();
    if (!bound_) bound_ = solution_.bound * program.seconds_per_unit();
    if (solution_.values.empty()) return std::nullopt;
    return program.runs_of(solution_.values);
  }

  SolveWatch watch(const RematProgram& program) const {
    return {.progress =
                [&](double incumbent, double bound, Seconds elapsed) {
                  if (!request_.watch || !request_.watch->solving) return;
                  request_.watch->solving(std::min(1.0, elapsed / config_.seconds),
                                          incumbent * program.seconds_per_unit(), bound * program.seconds_per_unit());
                },
            .stop = [this] { return request_.stopped(); }};
  }

  void describe_in(plan::Plan& plan, const RematRuns& runs, int rounds) const {
    int repeated = -step_.problem.stages();
    for (const IdVector<int, bool>& stage : runs) repeated += static_cast<int>(std::ranges::count(stage, true));
    const Seconds seconds = run_seconds(step_.problem, runs);
    plan.planner_config = {{"nodes", fmt::format("{}", step_.problem.stages())},
                           {"made_again", fmt::format("{}", repeated)},
                           {"expected_seconds", fmt::format("{:.6f}", seconds)}};
    if (!bound_) return;  // a draft
    plan.solver_status = describe(solution_);
    plan.planner_config.insert(
        plan.planner_config.end(),
        {{"expected_seconds_at_least", fmt::format("{:.6f}", std::max(step_.problem.once, *bound_))},
         {"gap_percent", fmt::format("{:.2f}", 100 * (seconds / std::max(step_.problem.once, *bound_) - 1))},
         {"columns", fmt::format("{}", columns_)},
         {"rows", fmt::format("{}", rows_)},
         {"solved", fmt::format("{}", rounds)}});
  }

  const PlanRequest& request_;
  CheckmateConfig config_;
  GroupedStep step_;
  bool exact_;
  plan::PackingFailure failure_;
  std::optional<Seconds> bound_;  // of the whole budget
  IlpSolution solution_{.values = {}};
  std::size_t columns_ = 0, rows_ = 0;
};

Seconds seconds_of_order(const PlanRequest& request, const plan::Plan& plan) {
  const profile::CostModel costs(request.graph, request.profile, request.machine);
  if (plan.schedule.empty()) return costs.compute_seconds();
  Seconds seconds = 0;
  for (const graph::OpIndex op : plan.schedule) seconds += costs.op_seconds(op);
  return seconds;
}

// Whether what takes no time may still have a plan.
bool others_may_do(ErrorCode code) {
  return wants_more_room(code) || code == ErrorCode::kOutOfTime || code == ErrorCode::kInterrupted;
}

// What is found without the program may pack where the program's answers do not.
Result<plan::Plan> solve_or_draft(const PlanRequest& step) {
  Result<plan::Plan> plan = Checkmate(step).run();
  if (plan.ok() || step.draft || !others_may_do(plan.error().code)) return plan;
  PlanRequest draft = step;
  draft.draft = true;
  Result<plan::Plan> drafted = Checkmate(draft).run();
  return drafted.ok() ? std::move(drafted) : std::move(plan);
}

// The graph's own order, in which some is made again by itself, is one of the possible plans.
Result<plan::Plan> solved_or_as_given(const PlanRequest& request) {
  Result<plan::Plan> plan = plan_without_repetitions(request, solve_or_draft);
  if (!plan.ok() && !others_may_do(plan.error().code)) return plan;
  const profile::CostModel costs(request.graph, request.profile, request.machine);
  if (plan.ok() && seconds_of_order(request, *plan) <= costs.compute_seconds()) return plan;
  std::vector<graph::OpIndex> own(request.graph.ops().size());
  std::iota(own.begin(), own.end(), 0);
  Result<plan::Plan> as_given = plan_in_order(request, own);
  if (!as_given.ok()) return plan;
  as_given->planner_config = {{"order", "the graph's own, with what it makes again by itself"}};
  return as_given;
}

Result<plan::Plan> plan_checkmate(const PlanRequest& request) {
  Result<plan::Plan> plan = solved_or_as_given(request);
  if (plan.ok() && request.stopped()) note_interruption(*plan, "the best order until then");
  return plan;
}

}  // namespace

PlannerEntry checkmate_planner() {
  return {.name = "checkmate",
          .summary = "what is made again and when, by integer programming (Jain et al. 2020)",
          .plan = plan_checkmate,
          .traits = {.decides = "integer program",
                     .profiles = true,
                     .recomputes = true,
                     .whole_step = true,
                     .any_graph = true,
                     .bound = true},
          .settings = checkmate_settings()};
}

}  // namespace sluice::planners

// AutoTM (Hildebrand, Khan, Trika, Lowe-Power, Akella, ASPLOS 2020): where tensors lie and when they move, by integer
// programming over op times measured by where operands are. docs/planners/autotm.md says what is the paper's and what is
// ours.
//
//   autotm-static   each tensor in one tier for its whole life                    (fig. 6a)
//   autotm-sync     moves between ops, for which compute waits                    (fig. 6b)
//   autotm-async    a move may also run beside one op                             (§7.1)
//
// Fragmentation (§4.2): ops over which the packed plan needs more than the budget get limits 2 % lower, and the program
// is solved anew.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/plan/rooms.hpp"
#include "sluice/planners/autotm/round_down.hpp"
#include "sluice/planners/schedule/in_place_use.hpp"
#include "sluice/planners/schedule/pack.hpp"

namespace sluice {
namespace {

constexpr int kMostRounds = 12;   // of solving anew; the paper needed 6 at most
constexpr double kShrink = 0.98;  // of the limits of ops that overflow
// The paper's gap. Static and synchronous programs reach it in a second or so.
constexpr SolveLimits kLimits{.seconds = 60, .nodes = 200, .columns = 3000, .gap = 0.01};

class AutoTm {
 public:
  AutoTm(std::string_view name, const PlanRequest& request, Movement movement, const SlowTier& slow)
      : name_(name),
        request_(request),
        movement_(movement),
        liveness_(analyze_liveness(request.graph)),
        costs_(request.graph, request.profile, request.machine),
        problem_(placement_problem(request.graph, request.machine, costs_, slow,
                                   find_moving_units(request.graph, liveness_), request.budgets[kFastTier])) {}

  Result<Plan> run() {
    for (int round = 1; round <= kMostRounds; ++round) {
      Overfull overfull;
      const std::optional<Formulation> program = formulate(problem_, movement_, {}, &overfull);
      if (!program) return infeasible(overfull);
      const IlpSolution solution = answer(*program);
      if (solution.values.empty()) return without_answer(solution);
      const std::vector<UnitPath> paths = program->paths_of(problem_, solution.values);
      const PlanBuilder builder = build(paths);
      PackingFailure failure;
      Result<Plan> plan = builder.finish(request_.budgets, &failure);
      if (plan.ok()) {
        describe_in(*plan, *program, solution, round);
        return plan;
      }
      if (plan.error().code != ErrorCode::kInfeasible || failure.tier != kFastTier) return plan;
      SLUICE_RETURN_IF_ERROR(shrink_where_it_overflows(builder, failure));
    }
    return Error{ErrorCode::kInfeasible, fmt::format("{}: no placement packs into {} of fast memory", name_,
                                                     format_bytes(request_.budgets[kFastTier]))};
  }

 private:
  Error infeasible(const Overfull& overfull) const {
    return {ErrorCode::kInfeasible, fmt::format("{}: while op {} runs, {} must be in fast memory, where {} are", name_,
                                                request_.graph.op(overfull.op).name, format_bytes(overfull.needed),
                                                format_bytes(request_.budgets[kFastTier]))};
  }

  Error without_answer(const IlpSolution& solution) const {
    const bool proved = solution.status == SolveStatus::kInfeasible;
    return {
        proved ? ErrorCode::kInfeasible : ErrorCode::kUnsupported,
        fmt::format("{}: the solver found no placement of {} in {} of fast memory: {}. Raise --fast, or name another "
                    "planner",
                    name_, request_.graph.name, format_bytes(request_.budgets[kFastTier]), describe(solution))};
  }

  // Dives and branch and bound find nothing better in a minute where there is a column for every move beside an op.
  SolveLimits limits_for(const Formulation& program) const {
    SolveLimits limits = kLimits;
    const auto choices = std::ranges::count(program.ilp.columns, true, &Column::integer);
    if (movement_ == Movement::kAsynchronous && choices > limits.columns) limits.dives = 0;
    return limits;
  }

  IlpSolution answer(const Formulation& program) const {
    const SolveWatch watch{
        .progress = [this](double, double, Seconds elapsed) { request_.report(elapsed / kLimits.seconds, {}); },
        .stop = [this] { return request_.stopped(); }};
    return solve(program.ilp, limits_for(program), {}, watch,
                 [&](const std::vector<double>& relaxed) { return round_down(program, problem_, relaxed); });
  }

  PlanBuilder build(const std::vector<UnitPath>& paths) const {
    PlanBuilder builder(request_.graph, request_.machine);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const MovingUnit& unit = problem_.units[i];
      if (paths[i].fast.empty()) {
        for (const TensorId id : unit.tensors) use_in_tier(builder, liveness_, id, kFastTier);
        continue;
      }
      const TensorSchedule schedule = paths[i] == always_fast_path(unit)
                                          ? fast_over(unit.range, unit.persistent)
                                          : schedule_of(unit, paths[i], request_.graph.op_count());
      add_unit_schedule(builder, request_.graph, liveness_, unit, schedule);
    }
    return builder;
  }

  // As the plan would lie if there were room.
  Status shrink_where_it_overflows(const PlanBuilder& builder, const PackingFailure& failure) {
    const Bytes budget = request_.budgets[kFastTier];
    std::vector<Bytes> budgets = request_.budgets;
    budgets[kFastTier] = 2 * failure.needed;  // plenty: as the portfolio packs by itself
    SLUICE_ASSIGN(const Plan plan, builder.finish(budgets, nullptr, kPortfolioAlone));
    const std::vector<Room> rooms = residency_rooms(request_.graph, plan);
    std::vector<bool> overflows(request_.graph.ops().size(), false);
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      const Residency& each = plan.residencies[i];
      if (each.tier != kFastTier || each.offset + rooms[i].bytes <= budget) continue;
      std::fill(overflows.begin() + each.ops.begin, overflows.begin() + each.ops.end, true);
    }
    for (std::size_t op = 0; op < overflows.size(); ++op) {
      if (!overflows[op]) continue;
      problem_.limits[op] =
          align_down(static_cast<Bytes>(kShrink * static_cast<double>(problem_.limits[op])), kTensorAlignment);
    }
    return {};
  }

  void describe_in(Plan& plan, const Formulation& program, const IlpSolution& solution, int rounds) const {
    const auto seconds = [&](double units) { return fmt::format("{:.6f}", units * program.seconds_per_unit); };
    plan.solver_status = describe(solution);
    plan.planner_config = {{"expected_seconds", seconds(solution.cost)},
                           {"expected_seconds_at_least", seconds(solution.bound)},
                           {"columns", fmt::format("{}", program.ilp.columns.size())},
                           {"rows", fmt::format("{}", program.ilp.rows.size())},
                           {"solved", fmt::format("{}", rounds)}};
  }

  std::string_view name_;
  const PlanRequest& request_;
  Movement movement_;
  Liveness liveness_;
  CostModel costs_;
  PlacementProblem problem_;
};

Result<Plan> plan_static(const PlanRequest& request) {
  SLUICE_ASSIGN(const auto slow, find_addressable_slow_tiers("autotm-static", request.machine));
  return AutoTm("autotm-static", request, Movement::kStatic, slow.front()).run();
}

Result<Plan> plan_sync(const PlanRequest& request) {
  SLUICE_ASSIGN(const auto slow, find_slow_tiers("autotm-sync", request.machine));
  return AutoTm("autotm-sync", request, Movement::kSynchronous, slow.front()).run();
}

Result<Plan> plan_async(const PlanRequest& request) {
  SLUICE_ASSIGN(const auto slow, find_slow_tiers("autotm-async", request.machine));
  return AutoTm("autotm-async", request, Movement::kAsynchronous, slow.front()).run();
}

}  // namespace

PlannerEntry autotm_static_planner() {
  return {.name = "autotm-static",
          .summary = "one tier for each tensor, by integer programming (Hildebrand et al. 2020)",
          .plan = plan_static};
}

PlannerEntry autotm_sync_planner() {
  return {.name = "autotm-sync",
          .summary = "tensors moved between ops, by integer programming (Hildebrand et al. 2020)",
          .plan = plan_sync};
}

PlannerEntry autotm_async_planner() {
  return {.name = "autotm-async",
          .summary = "tensors moved between ops and beside them, by integer programming (Hildebrand et al. 2020)",
          .plan = plan_async};
}

}  // namespace sluice

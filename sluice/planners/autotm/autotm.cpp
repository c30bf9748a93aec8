// AutoTM (Hildebrand, Khan, Trika, Lowe-Power, Akella, ASPLOS 2020): where tensors lie and when they move, by integer
// programming over op times measured by where operands are. docs/planners/autotm.md says what is the paper's and what is
// ours.
//
//   autotm-static   each tensor in one tier for its whole life                    (fig. 6a)
//   autotm-sync     moves between ops, for which compute waits                    (fig. 6b)
//   autotm-async    a move may also run beside one op                             (§7.1)
//   ...:additions=kernels    implementations of ops by time and workspace, too    (§3.4)
//
// Fragmentation (§4.2): ops over which the packed plan needs more than the budget get limits 2 % lower, and the program
// is solved anew.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/plan/rooms.hpp"
#include "sluice/planners/autotm/round_down.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/in_place_use.hpp"
#include "sluice/planners/schedule/pack.hpp"

namespace sluice::planners {
namespace {

constexpr int kMostRounds = 12;        // of solving anew; the paper needed 6 at most
constexpr double kLimitShrink = 0.98;  // of the limits of ops that overflow

// In the order of additions().
enum class AutoTmAddition { kKernels };

const std::vector<PlannerAddition>& additions() {
  static const std::vector<PlannerAddition> all{
      {.name = "kernels",
       .summary = "implementations of ops chosen with the places of tensors, as published (only where named)",
       .by_default = false,
       .chooses_implementations = true}};
  return all;
}

struct AutoTmConfig {
  Seconds seconds = 60;
  double gap = 0.01;
  int nodes = 200;
  int columns = 3000;
  bool cuts = true;
  int threads = 1;
  int seed = 0;
};

// Static and synchronous programs reach the paper's gap in a second or so.
const Settings& settings() {
  using Config = AutoTmConfig;
  static const Settings all{
      Config{},
      {setting<&Config::seconds>({"seconds", "for the solver, each time it is asked", "ours", 0.001, 1e6}),
       setting<&Config::gap>({"gap", "good enough: an answer within this share of the bound", "the paper's", 0, 1}),
       setting<&Config::nodes>({"nodes", "of branch and bound", "ours", 0, 1e9}),
       setting<&Config::columns>(
           {"columns", "integer columns of the largest program that is branched on", "ours", 0, 1e9}),
       setting<&Config::cuts>({"cuts", "1: made while branching, 0: none", "ours"}),
       setting<&Config::threads>({"threads", "of branch and bound", "ours", 1, 256}),
       setting<&Config::seed>({"seed", "of what the solver decides by lot", "ours", 0, 1e9})}};
  return all;
}

class AutoTm {
 public:
  AutoTm(std::string_view name, const PlanRequest& request, Movement movement, const SlowTier& slow)
      : name_(name),
        request_(request),
        config_(config_of<AutoTmConfig>(request)),
        movement_(movement),
        liveness_(graph::analyze_liveness(request.graph)),
        costs_(request.graph, request.profile, request.machine),
        problem_(placement_problem(request.graph, request.machine, costs_, slow,
                                   find_moving_units(request.graph, liveness_), request.budgets[memory::kFastTier])),
        selects_(request.additions.has(AutoTmAddition::kKernels)) {
    if (selects_ && has_implementation_times(request.profile)) {
      add_alternatives(problem_, request.profile);
    } else {
      keep_all_that_fits(problem_);
    }
  }

  Result<plan::Plan> run() {
    for (int round = 1; round <= kMostRounds; ++round) {
      Overfull overfull;
      const std::optional<Formulation> program = formulate(problem_, movement_, {}, &overfull);
      if (!program) return infeasible(overfull, round);
      const IlpSolution solution = answer(*program);
      if (solution.values.empty()) return without_answer(solution, round);
      const PlacedStep placed = program->placed_by(problem_, solution.values);
      const RescheduledRequest step(with_choices(placed));
      const plan::PlanBuilder builder = build(step.request().graph, placed.paths);
      plan::PackingFailure failure;
      Result<plan::Plan> plan = builder.finish(request_.budgets, &failure);
      if (plan.ok()) {
        describe_in(*plan, *program, solution, round);
        if (selects_) describe_kernels(*plan, placed);
        return step.for_given_graph(std::move(*plan));
      }
      if (!wants_more_room(plan.error().code) || failure.tier != memory::kFastTier) return none_found(plan.error());
      SLUICE_RETURN_IF_ERROR(shrink_where_it_overflows(step.request().graph, builder, failure));
    }
    return Error{ErrorCode::kNoneFound, fmt::format("{}: no placement packs into {} of fast memory", name_,
                                                    format_bytes(request_.budgets[memory::kFastTier]))};
  }

 private:
  // After the first round, limits are lower than the budget: what is infeasible then proves nothing.
  static ErrorCode proved_in(int round) { return round == 1 ? ErrorCode::kInfeasible : ErrorCode::kNoneFound; }

  Error infeasible(const Overfull& overfull, int round) const {
    return {proved_in(round),
            fmt::format("{}: while op {} runs, {} must be in fast memory, where {} are", name_,
                        request_.graph.op(overfull.op).name, format_bytes(overfull.needed),
                        format_bytes(request_.budgets[memory::kFastTier])),
            overfull.needed, request_.budgets[memory::kFastTier]};
  }

  ErrorCode code_of(SolveStatus status, int round) const {
    if (status == SolveStatus::kInfeasible) return proved_in(round);
    if (status == SolveStatus::kStopped) return request_.why_stopped();
    return status == SolveStatus::kTimeLimit ? ErrorCode::kOutOfTime : ErrorCode::kNoneFound;
  }

  Error without_answer(const IlpSolution& solution, int round) const {
    return {
        code_of(solution.status, round),
        fmt::format("{}: the solver found no placement of {} in {} of fast memory: {}. Raise --fast, or name another "
                    "planner",
                    name_, request_.graph.name, format_bytes(request_.budgets[memory::kFastTier]), describe(solution))};
  }

  // Dives and branch and bound find nothing better in a minute where there is a column for every move beside an op.
  SolveLimits limits_for(const Formulation& program) const {
    SolveLimits limits{.seconds = config_.seconds,
                       .nodes = config_.nodes,
                       .columns = config_.columns,
                       .gap = config_.gap,
                       .threads = config_.threads,
                       .seed = config_.seed,
                       .cuts = config_.cuts};
    const auto choices = std::ranges::count(program.ilp.columns, true, &Column::integer);
    if (movement_ == Movement::kAsynchronous && choices > limits.columns) limits.dives = 0;
    return limits;
  }

  // Where nothing stays in fast memory between uses there is always room: whoever stops the solver gets that at worst.
  IlpSolution answer(const Formulation& program) const {
    const SolveLimits limits = limits_for(program);
    const SolveWatch watch{.progress =
                               [&](double incumbent, double bound, Seconds elapsed) {
                                 if (!request_.watch || !request_.watch->solving) return;
                                 request_.watch->solving(std::min(1.0, elapsed / limits.seconds),
                                                         incumbent * program.seconds_per_unit,
                                                         bound * program.seconds_per_unit);
                               },
                           .stop = [this] { return request_.stopped(); }};
    if (request_.watch && request_.watch->program) request_.watch->program(program.ilp);
    const std::vector<double> nothing_stays(program.ilp.columns.size(), 0);
    return solve(program.ilp, limits, program.values_of(program.placed_by(problem_, nothing_stays)), watch,
                 [&](const std::vector<double>& relaxed) { return round_down(program, problem_, relaxed); });
  }

  // With the implementations that the answer has.
  PlanRequest with_choices(const PlacedStep& placed) const {
    PlanRequest asked = request_;
    if (selects_) asked.choices = choices_of(problem_, placed);
    return asked;
  }

  // `graph`: the request's, with the workspaces of the implementations that are chosen.
  plan::PlanBuilder build(const graph::Graph& graph, const std::vector<UnitPath>& paths) const {
    plan::PlanBuilder builder(graph, request_.machine);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const MovingUnit& unit = problem_.units[i];
      if (paths[i].fast.empty()) {
        for (const graph::TensorId id : unit.tensors) use_in_tier(builder, liveness_, id, memory::kFastTier);
        continue;
      }
      const TensorSchedule schedule = paths[i] == always_fast_path(unit)
                                          ? fast_over(unit.range, unit.persistent)
                                          : schedule_of(unit, paths[i], graph.op_count());
      add_unit_schedule(builder, graph, liveness_, unit, schedule);
    }
    return builder;
  }

  // As the plan would lie if there were room.
  Status shrink_where_it_overflows(const graph::Graph& graph, const plan::PlanBuilder& builder,
                                   const plan::PackingFailure& failure) {
    const Bytes budget = request_.budgets[memory::kFastTier];
    std::vector<Bytes> budgets = request_.budgets;
    budgets[memory::kFastTier] = 2 * failure.needed;  // plenty: as the portfolio packs by itself
    SLUICE_ASSIGN(const plan::Plan plan, builder.finish(budgets, nullptr, memory::kPortfolioAlone));
    const std::vector<plan::Room> rooms = plan::residency_rooms(graph, plan);
    std::vector<bool> overflows(graph.ops().size(), false);
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      const plan::Residency& each = plan.residencies[i];
      if (each.tier != memory::kFastTier || each.offset + rooms[i].bytes <= budget) continue;
      std::fill(overflows.begin() + each.ops.begin, overflows.begin() + each.ops.end, true);
    }
    for (std::size_t op = 0; op < overflows.size(); ++op) {
      if (!overflows[op]) continue;
      problem_.limits[op] = align_down(share_of(kLimitShrink, problem_.limits[op]), memory::kBlockAlignment);
    }
    return {};
  }

  void describe_in(plan::Plan& plan, const Formulation& program, const IlpSolution& solution, int rounds) const {
    const auto seconds = [&](double units) { return fmt::format("{:.6f}", units * program.seconds_per_unit); };
    plan.solver_status = describe(solution);
    plan.planner_config = {{"expected_seconds", seconds(solution.cost)},
                           {"expected_seconds_at_least", seconds(std::max(0.0, solution.bound))},
                           {"columns", fmt::format("{}", program.ilp.columns.size())},
                           {"rows", fmt::format("{}", program.ilp.rows.size())},
                           {"solved", fmt::format("{}", rounds)}};
  }

  void describe_kernels(plan::Plan& plan, const PlacedStep& placed) const {
    const std::vector<graph::OpChoice> choices = choices_of(problem_, placed);
    const auto others =
        std::ranges::count_if(choices, [](const graph::OpChoice& each) { return each.implementation != 0; });
    plan.planner_config.emplace_back(
        "kernels", others == 0 ? "those that ops have anyway"
                               : fmt::format("{} ops by others than the first: by the integer program", others));
  }

  std::string_view name_;
  const PlanRequest& request_;
  AutoTmConfig config_;
  Movement movement_;
  graph::Liveness liveness_;
  profile::CostModel costs_;
  PlacementProblem problem_;
  bool selects_;  // implementations
};

template <Movement Way>
PlannerEntry entry(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .plan = [name](const PlanRequest& request) -> Result<plan::Plan> {
            constexpr auto kFind = Way == Movement::kStatic ? find_addressable_slow_tiers : find_slow_tiers;
            SLUICE_ASSIGN(const auto slow, kFind(name, request.machine));
            return AutoTm(name, request, Way, slow.front()).run();
          },
          .traits = {.decides = "integer program",
                     .profiles = true,
                     .moves = Way != Movement::kStatic,
                     .whole_step = true,
                     .all_tensors = true,
                     .any_graph = true,
                     .bound = true},
          .additions = additions(),
          .settings = settings()};
}

}  // namespace

PlannerEntry autotm_static_planner() {
  return entry<Movement::kStatic>("autotm-static",
                                  "one tier for each tensor, by integer programming (Hildebrand et al. 2020)");
}

PlannerEntry autotm_sync_planner() {
  return entry<Movement::kSynchronous>("autotm-sync",
                                       "tensors moved between ops, by integer programming (Hildebrand et al. 2020)");
}

PlannerEntry autotm_async_planner() {
  return entry<Movement::kAsynchronous>(
      "autotm-async", "tensors moved between ops and beside them, by integer programming (Hildebrand et al. 2020)");
}

}  // namespace sluice::planners

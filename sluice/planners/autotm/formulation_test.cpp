// The integer programs against every placement of small steps, worked out by other code: it follows where valid copies
// are, op after op, where the program has columns and rows.
#include "sluice/planners/autotm/formulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/autotm/hide_moves.hpp"
#include "sluice/planners/schedule/step_for_tests.hpp"

namespace sluice::planners {
namespace {

constexpr SolveLimits kProvenOptimum{.seconds = 60, .nodes = 100000, .gap = 0};
constexpr Reductions kNoReductions{false, false, false, false, false};

class SmallDraw {
 public:
  explicit SmallDraw(std::uint64_t seed) : seed_(seed) {}
  int operator()(int below) { return static_cast<int>(random_bits(seed_, 7, draws_++) % static_cast<unsigned>(below)); }

 private:
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
};

// Steps of up to eight ops; some tensors are parameters, some written again.
graph::Graph random_step(std::uint64_t seed, int tensors, int most_uses) {
  SmallDraw draw(seed);
  const int ops = 5 + draw(4);
  std::vector<std::string> texts;
  for (int i = 0; i < tensors; ++i) {
    const bool parameter = draw(3) == 0;
    std::string text(as_index(ops), '.');
    const int uses = 2 + draw(most_uses - 1);
    for (int use = 0; use < uses; ++use) text[as_index(draw(ops))] = draw(4) == 0 ? 'u' : 'r';
    const std::size_t first = text.find_first_not_of('.');
    if (!parameter) text[first] = 'w';
    texts.push_back((parameter ? "*" : "") + text);
  }
  graph::Graph step = testing::step_of_uses(texts, kMiB);
  for (graph::TensorId id = 0; id < step.tensor_count(); ++id) {
    step.tensor(id).bytes = (1 + draw(3)) * kMiB;
    step.tensor(id).shape = {step.tensor(id).bytes / 4};
  }
  return step;
}

struct SmallProblem {
  SmallProblem(graph::Graph made, memory::TierKind slow, std::uint64_t seed)
      : step(std::move(made)),
        machine(testing::machine_with(slow, false)),
        liveness(graph::analyze_liveness(step)),
        profile{.op_seconds = times(step, seed)},
        costs(step, profile, machine),
        problem(placement_problem(step, machine, costs, testing::kSlowOfTests, find_moving_units(step, liveness),
                                  budget(step, liveness, seed))) {}

  static std::vector<Seconds> times(const graph::Graph& graph, std::uint64_t seed) {
    SmallDraw draw(seed + 1000);
    std::vector<Seconds> seconds;
    for (std::size_t op = 0; op < graph.ops().size(); ++op) seconds.push_back(1e-4 * (1 + draw(60)));
    return seconds;
  }

  // Between the largest op's operands and what everything takes.
  static Bytes budget(const graph::Graph& graph, const graph::Liveness& liveness, std::uint64_t seed) {
    std::vector<Bytes> sizes;
    for (const graph::Tensor& tensor : graph.tensors()) sizes.push_back(tensor.bytes);
    const std::vector<Bytes> live = graph::live_bytes(liveness, sizes);
    const Bytes most = *std::ranges::max_element(live);
    const Bytes least = plan::largest_working_set(graph);
    SmallDraw draw(seed + 2000);
    return least + (most - least) / kMiB * draw(3) / 3 * kMiB;
  }

  // Some ops have other implementations: with larger workspaces faster, mostly.
  void add_random_alternatives(std::uint64_t seed) {
    SmallDraw draw(seed + 3000);
    problem.alternatives.resize(step.ops().size());
    for (graph::OpIndex op = 0; op < step.op_count(); op += 1 + draw(3)) {
      std::vector<Alternative>& all = problem.alternatives[op];
      const int count = 2 + draw(2);
      for (int i = 0; i < count; ++i) {
        const Seconds longer = (draw(4) == 0 ? 0.1 : -0.2) * i * profile.op_seconds[op];
        all.push_back({i, longer, draw(2) * i * kMiB / 2});
      }
      std::ranges::stable_sort(all, {}, &Alternative::more_bytes);
      for (Alternative& each : all) each.more_bytes -= all.front().more_bytes;
    }
  }

  graph::Graph step;
  memory::Machine machine;
  graph::Liveness liveness;
  profile::Profile profile;
  profile::CostModel costs;
  PlacementProblem problem;
};

// One way of placing one tensor.
struct Way {
  std::uint32_t fast = 0;                    // ops over which it takes room there
  std::uint32_t slow_use = 0;                // ops that use it in the slow tier
  Seconds moves = 0;                         // that compute waits for
  std::map<graph::OpIndex, Seconds> beside;  // by op: of moves beside it
};

// All ways of one tensor, by following its copies: at each use it is fast or slow, behind each it is dropped from the
// fast tier or not.
class Ways {
 public:
  Ways(const SmallProblem& problem, const MovingUnit& unit, Movement movement)
      : problem_(problem.problem), unit_(unit), movement_(movement), ops_(problem.step.op_count()) {
    in_ = problem_.costs.transfer_seconds(problem_.slow.inward, unit.load());
    out_ = problem_.costs.transfer_seconds(problem_.slow.outward, unit.load());
  }

  std::vector<Way> all() {
    if (movement_ == Movement::kStatic) {
      add_static();
    } else if (unit_.persistent) {
      follow(0, {.fast = true}, {}, /*home_is_fast=*/true);
      follow(0, {.slow = true}, {}, /*home_is_fast=*/false);
    } else {
      follow(0, {}, {}, false);
    }
    std::vector<Way> ways;
    for (auto& [key, way] : best_) ways.push_back(way);
    return ways;
  }

 private:
  struct Copies {
    bool fast = false;  // valid ones
    bool slow = false;
    graph::OpIndex free_from = 0;  // the first op that a move may stand beside
  };

  static std::uint32_t bits(graph::OpIndex begin, graph::OpIndex end) {
    std::uint32_t set = 0;
    for (graph::OpIndex op = begin; op < end; ++op) set |= 1U << op;
    return set;
  }

  void keep(const Way& way) {
    const auto [found, fresh] = best_.try_emplace({way.fast, way.slow_use, way.beside}, way);
    if (!fresh && way.moves < found->second.moves) found->second = way;
  }

  void add_static() {
    Way fast{.fast = bits(unit_.range.begin, unit_.range.end), .beside = {}};
    Way slow{.beside = {}};
    for (const graph::Use& use : unit_.uses) slow.slow_use |= 1U << use.op;
    keep(fast);
    if (problem_.in_place) keep(slow);
  }

  // Before use `i`.
  void follow(std::size_t i, Copies copies, Way way, bool home_is_fast) {
    if (i == unit_.uses.size()) return finish(copies, std::move(way), home_is_fast);
    const graph::OpIndex op = unit_.uses[i].op;
    const graph::OpIndex since = i > 0 ? unit_.uses[i - 1].op + 1 : 0;
    if (copies.fast) {
      way.fast |= i > 0 || home_is_fast ? bits(since, op) : 0;
      use_fast(i, copies, way, home_is_fast);
      return;
    }
    if (problem_.in_place) use_slow(i, way, home_is_fast);
    if (i == 0 && !unit_.persistent) return use_fast(i, copies, way, home_is_fast);  // made there
    Way waits = way;
    waits.moves += in_;
    use_fast(i, copies, waits, home_is_fast);
    if (movement_ != Movement::kAsynchronous) return;
    for (graph::OpIndex beside = copies.free_from; beside < op; ++beside) {
      Way hides = way;
      hides.beside[beside] += in_;
      hides.fast |= bits(beside, op);
      use_fast(i, copies, hides, home_is_fast);
    }
  }

  void use_slow(std::size_t i, Way way, bool home_is_fast) {
    const graph::OpIndex op = unit_.uses[i].op;
    way.slow_use |= 1U << op;
    follow(i + 1, {.fast = false, .slow = true, .free_from = op + 1}, std::move(way), home_is_fast);
  }

  void use_fast(std::size_t i, Copies copies, Way way, bool home_is_fast) {
    const graph::OpIndex op = unit_.uses[i].op;
    way.fast |= 1U << op;
    copies.fast = true;
    copies.slow = copies.slow && !unit_.uses[i].writes;
    follow(i + 1, copies, way, home_is_fast);
    const bool last = i + 1 == unit_.uses.size();
    if (last && !unit_.persistent) return;
    const graph::OpIndex until = last ? ops_ : unit_.uses[i + 1].op;
    Way waits = way;
    waits.moves += copies.slow ? 0 : out_;
    follow(i + 1, {.fast = false, .slow = true, .free_from = op + 1}, waits, home_is_fast);
    if (movement_ != Movement::kAsynchronous || copies.slow) return;
    for (graph::OpIndex beside = op + 1; beside < until; ++beside) {
      Way hides = way;
      hides.beside[beside] += out_;
      hides.fast |= bits(op + 1, beside + 1);
      follow(i + 1, {.fast = false, .slow = true, .free_from = beside + 1}, hides, home_is_fast);
    }
  }

  // A persistent tensor ends the step where it began it.
  void finish(const Copies& copies, Way way, bool home_is_fast) {
    if (unit_.persistent && home_is_fast != copies.fast) return;
    if (unit_.persistent && home_is_fast) way.fast |= bits(unit_.uses.back().op, ops_);
    keep(way);
  }

  const PlacementProblem& problem_;
  const MovingUnit& unit_;
  Movement movement_;
  graph::OpIndex ops_;
  Seconds in_ = 0;
  Seconds out_ = 0;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::map<graph::OpIndex, Seconds>>, Way> best_;
};

// Every combination of ways that fits, the cheapest of them.
class Enumeration {
 public:
  Enumeration(const SmallProblem& problem, Movement movement) : problem_(problem.problem), step_(problem.step) {
    for (const MovingUnit& unit : problem_.units) {
      if (unit.uses.empty()) continue;
      units_.push_back(&unit);
      const bool moves = unit.may_move || unit.short_lived;
      ways_.push_back(moves ? Ways(problem, unit, movement).all()
                            : std::vector<Way>{{.fast = mask(unit.range), .beside = {}}});
    }
  }

  std::optional<Seconds> cheapest() {
    chosen_.resize(units_.size());
    longer_.resize(step_.ops().size(), 0);
    choose_alternative(0, std::vector<Bytes>(step_.ops().size(), 0));
    return best_;
  }

 private:
  static std::uint32_t mask(const Interval<graph::OpIndex>& range) {
    std::uint32_t set = 0;
    for (graph::OpIndex op = range.begin; op < range.end; ++op) set |= 1U << op;
    return set;
  }

  void choose_alternative(graph::OpIndex op, const std::vector<Bytes>& used) {
    if (op == step_.op_count()) return choose(0, used);
    if (problem_.alternatives.empty() || problem_.alternatives[op].empty()) return choose_alternative(op + 1, used);
    for (const Alternative& each : problem_.alternatives[op]) {
      std::vector<Bytes> more = used;
      more[as_index(op)] += each.more_bytes;
      longer_[as_index(op)] = each.longer;
      if (more[as_index(op)] <= problem_.limits[op]) choose_alternative(op + 1, more);
    }
  }

  void choose(std::size_t unit, const std::vector<Bytes>& used) {
    if (unit == units_.size()) return consider();
    for (const Way& way : ways_[unit]) {
      std::vector<Bytes> more = used;
      bool fits = true;
      for (std::size_t op = 0; op < more.size(); ++op) {
        more[op] += (way.fast >> op & 1) != 0 ? units_[unit]->moved_bytes : 0;
        fits = fits && more[op] <= problem_.limits[op];
      }
      if (!fits) continue;
      chosen_[unit] = &way;
      choose(unit + 1, more);
    }
  }

  void consider() {
    Seconds seconds = 0;
    for (graph::OpIndex op = 0; op < step_.op_count(); ++op) {
      std::vector<memory::TierId> tiers;
      Seconds beside = 0;
      for (const auto* operands : {&step_.op(op).inputs, &step_.op(op).outputs}) {
        for (const graph::TensorId id : *operands)
          tiers.push_back(is_slow(id, op) ? problem_.slow.id : memory::kFastTier);
      }
      for (const Way* way : chosen_) {
        const auto found = way->beside.find(op);
        beside += found == way->beside.end() ? 0 : found->second;
      }
      seconds += std::max(problem_.costs.op_seconds(op, tiers) + longer_[as_index(op)], beside);
    }
    for (const Way* way : chosen_) seconds += way->moves;
    if (!best_ || seconds < *best_) best_ = seconds;
  }

  bool is_slow(graph::TensorId id, graph::OpIndex op) const {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (units_[i]->tensors.front() == id) return (chosen_[i]->slow_use >> op & 1) != 0;
    }
    return false;
  }

  const PlacementProblem& problem_;
  const graph::Graph& step_;
  std::vector<const MovingUnit*> units_;
  std::vector<std::vector<Way>> ways_;
  std::vector<const Way*> chosen_;
  std::vector<Seconds> longer_;  // by op: than with its first implementation
  std::optional<Seconds> best_;
};

struct ExactCase {
  Movement movement;
  memory::TierKind slow;
  int tensors;
  int uses;
  bool alternatives = false;
};

// With everything in fast memory, and the fastest implementations.
Seconds fastest(const SmallProblem& small) {
  Seconds seconds = small.costs.compute_seconds();
  for (const std::vector<Alternative>& each : small.problem.alternatives) {
    if (!each.empty()) seconds += std::ranges::min(each, {}, &Alternative::longer).longer;
  }
  return seconds;
}

// The value of the program, with and without reductions, is what trying everything finds.
void expect_exact(const ExactCase& each, std::uint64_t seed, int& binding) {
  SmallProblem small(random_step(seed, each.tensors, each.uses), each.slow, seed);
  if (each.alternatives) small.add_random_alternatives(seed);
  const std::optional<Seconds> best = Enumeration(small, each.movement).cheapest();
  for (const Reductions& reductions : {Reductions{}, kNoReductions}) {
    const auto program = formulate(small.problem, each.movement, reductions);
    if (!program) {
      EXPECT_FALSE(best.has_value());
      continue;
    }
    const IlpSolution solution = solve(program->ilp, kProvenOptimum);
    ASSERT_EQ(best.has_value(), !solution.values.empty()) << describe(solution);
    if (!best) continue;
    EXPECT_NEAR(solution.cost * program->seconds_per_unit, *best, 1e-9);
    const std::vector<double> again = program->values_of(program->placed_by(small.problem, solution.values));
    EXPECT_LT(program->ilp.violation(again), 1e-6);
    EXPECT_NEAR(program->ilp.cost_of(again), solution.cost, 1e-6);
    const std::vector<double> nothing(program->ilp.columns.size(), 0);
    const std::vector<double> nothing_stays = program->values_of(program->placed_by(small.problem, nothing));
    EXPECT_LT(program->ilp.violation(nothing_stays), 1e-6) << "there is always an answer to begin with";
  }
  binding += best && *best > fastest(small) * (1 + 1e-9) ? 1 : 0;
}

class Exactness : public ::testing::TestWithParam<ExactCase> {};

TEST_P(Exactness, TheProgramsOptimumIsThatOfAllPlacements) {
  int binding = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_exact(GetParam(), seed, binding);
  }
  EXPECT_GT(binding, 60) << "or this shows little";
}

INSTANTIATE_TEST_SUITE_P(AutoTm, Exactness,
                         ::testing::Values(ExactCase{Movement::kStatic, memory::TierKind::kEmulated, 5, 4},
                                           ExactCase{Movement::kSynchronous, memory::TierKind::kEmulated, 3, 4},
                                           ExactCase{Movement::kSynchronous, memory::TierKind::kFile, 4, 4},
                                           ExactCase{Movement::kAsynchronous, memory::TierKind::kFile, 2, 3},
                                           ExactCase{Movement::kStatic, memory::TierKind::kEmulated, 3, 4, true},
                                           ExactCase{Movement::kSynchronous, memory::TierKind::kEmulated, 2, 4, true},
                                           ExactCase{Movement::kSynchronous, memory::TierKind::kFile, 3, 4, true},
                                           ExactCase{Movement::kAsynchronous, memory::TierKind::kFile, 2, 3, true}));

// From moves that all stand alone: none is worse off, many are hidden, and what comes of it satisfies the program.
TEST(HideMoves, PutsMovesBesideOpsWhereThatCostsLess) {
  int hidden = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SmallProblem small(random_step(seed, 4, 4), memory::TierKind::kFile, seed);
    const auto program = formulate(small.problem, Movement::kAsynchronous, {});
    if (!program) continue;
    const std::vector<double> nothing(program->ilp.columns.size(), 0);
    const PlacedStep alone = program->placed_by(small.problem, nothing);
    const std::vector<double> before = program->values_of(alone);
    const std::vector<double> after = program->values_of(hide_moves(*program, small.problem, alone));
    EXPECT_LT(program->ilp.violation(after), 1e-6);
    EXPECT_LE(program->ilp.cost_of(after), program->ilp.cost_of(before) + 1e-6);
    hidden += program->ilp.cost_of(after) < program->ilp.cost_of(before) - 1e-6 ? 1 : 0;
  }
  EXPECT_GT(hidden, 30) << "or this shows little";
}

// Of a block, nothing leaves before all of it is made: until then there is one choice for it.
TEST(BlocksOfAutoTm, StayWhereTheyAreUntilTheyAreMade) {
  for (const memory::TierKind slow : {memory::TierKind::kEmulated, memory::TierKind::kFile}) {
    SmallProblem small(testing::step_of_uses({"w.r..r", "..w.r."}, kMiB), slow, 0);
    small.problem.units[0].complete_after = 2;  // as if another of its tensors were made there
    small.problem.limits.assign(small.step.ops().size(), kMiB);
    const auto program = formulate(small.problem, Movement::kSynchronous, kNoReductions);
    if (slow == memory::TierKind::kFile) {
      EXPECT_FALSE(program) << "both must be fast while op 2 runs";
      continue;
    }
    ASSERT_TRUE(program);
    const Formulation::PathColumns& columns = program->columns_of[0];
    EXPECT_EQ(columns.fast[1], columns.fast[0]);
    EXPECT_EQ(columns.stays[0], columns.fast[0]);
    EXPECT_NE(columns.fast[2], columns.fast[0]);
    EXPECT_NE(columns.stays[1], columns.fast[1]);
  }
}

}  // namespace
}  // namespace sluice::planners

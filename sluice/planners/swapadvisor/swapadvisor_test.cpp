#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/verify/same_values.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/schedule/step_for_tests.hpp"
#include "sluice/planners/swapadvisor/genetic_search.hpp"
#include "sluice/testing/random/random_graph.hpp"

namespace sluice::planners {
namespace {

constexpr SlowTier kSlow{.id = 1, .outward = 0, .inward = 1};
constexpr Seconds kCopy = static_cast<Seconds>(kMiB) / 1e9;  // of a tensor of 1 MiB

struct Drawn {
  explicit Drawn(const PlanRequest& request)
      : decoder(request, kSlow), orders(request.graph), ops(request.graph.ops().size()) {}

  SwapGenes genes(std::uint64_t seed) const {
    GeneDraws draws(seed, 0);
    return drawn_genes(ops, decoder.size_count(), draws);
  }
  GeneticResult bred(const GeneticOptions& options, Bytes capacity, const std::function<bool()>& stop = {}) const {
    return breed_swaps(decoder, orders, ops, capacity, options, stop, {});
  }

  SwapDecoder decoder;
  OpOrders orders;
  std::size_t ops;
};

// A step of one tensor of 1 MiB a text, as step_of_uses() has it.
struct SmallStep {
  explicit SmallStep(const std::vector<std::string>& uses)
      : graph(testing::step_of_uses(uses, kMiB)), machine(testing::machine_with(memory::TierKind::kFile, false)) {
    profile.op_seconds.assign(graph.ops().size(), 1e-3);
  }
  DecodedSwaps decoded(Bytes capacity) const {
    const PlanRequest request{graph, profile, machine, {kGiB, kGiB}};
    const Drawn drawn(request);
    const SwapGenes own = genes_of_the_graph(drawn.ops, drawn.decoder.size_count());
    return drawn.decoder.decode(drawn.orders.by_priority(own.priorities), own.begins, capacity).value();
  }

  graph::Graph graph;
  memory::Machine machine;
  profile::Profile profile;
};

TEST(SwapAdvisorOrder, EveryDrawnOrderReadsTheSameValues) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem(testing::random_graph(seed), "file", 1e9);
    const PlanRequest request = problem.request(1);
    const Drawn drawn(request);
    const std::vector<graph::OpIndex> order = drawn.orders.by_priority(drawn.genes(seed).priorities);
    EXPECT_TRUE(drawn.orders.is_valid(order));
    EXPECT_TRUE(plan::check_same_values(problem.graph, graph::reschedule(problem.graph, order).value(), 1).empty());
  }
}

TEST(SwapAdvisorOrder, OfTheGraphIsTheGraphs) {
  const PlanningProblem problem(merged_model("resnet20", 2, 32), "file", 1e9);
  const OpOrders orders(problem.graph);
  const auto order = orders.by_priority(genes_of_the_graph(problem.graph.ops().size(), 1).priorities);
  EXPECT_TRUE(graph::is_own_order(order, problem.graph.op_count()));
  std::vector<graph::OpIndex> reversed(order.rbegin(), order.rend());
  EXPECT_FALSE(orders.is_valid(reversed));
}

TEST(SwapAdvisorGenes, CrossedOnesKeepTheFirstOpsOfOneOrder) {
  const PlanningProblem problem(merged_model("inception_v3", 1, 80), "file", 1e9);
  const PlanRequest request = problem.request(1);
  const Drawn drawn(request);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SwapGenes first = drawn.genes(2 * seed), second = drawn.genes(2 * seed + 1);
    const auto first_order = drawn.orders.by_priority(first.priorities);
    const auto second_order = drawn.orders.by_priority(second.priorities);
    GeneDraws draws(seed, 1);
    const std::size_t cut = GeneDraws(seed, 1).below(first_order.size() + 1);
    const SwapGenes child = crossed_genes(first, first_order, second, second_order, draws);
    const auto order = drawn.orders.by_priority(child.priorities);
    EXPECT_TRUE(std::equal(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(cut), first_order.begin()));
    EXPECT_TRUE(drawn.orders.is_valid(order));
  }
}

// Room for two of three: op 2 has the one leave that is needed again last, which comes back as soon as there is room.
TEST(SwapAdvisorDecoder, SwapsWhatIsNeededLastAndBringsItEarly) {
  const SmallStep step({"w......r", ".w.r....", "..wr....", "......wr"});
  EXPECT_NEAR(step.decoded(3 * kMiB).seconds, 8e-3, 1e-9);
  const DecodedSwaps tight = step.decoded(2 * kMiB);
  ASSERT_EQ(tight.schedules[0].pieces.size(), 2U);
  EXPECT_EQ(tight.schedules[0].pieces[0].evict_after, 0);
  EXPECT_EQ(tight.schedules[0].pieces[0].ops.end, 2);
  EXPECT_EQ(tight.schedules[0].pieces[1].ops.begin, 4) << "right behind those that took its room";
  // Copies take 1.05 ms: op 2 waits for the rest of the one out.
  EXPECT_NEAR(tight.seconds, 8e-3 + std::max(0.0, kCopy - 1e-3), 1e-9);
  for (const graph::TensorId id : {1, 2, 3}) EXPECT_EQ(tight.schedules[id].pieces.size(), 1U);
}

TEST(SwapAdvisorDecoder, SwapsParametersToo) {
  const SmallStep step({"*r....u.", ".w..r..", "..wr...", ".....wr"});
  const TensorSchedule parameter = step.decoded(2 * kMiB).schedules[0];
  EXPECT_TRUE(parameter.fast_at_start);
  ASSERT_EQ(parameter.pieces.size(), 2U);
  EXPECT_EQ(parameter.pieces[0].ops, (Interval<graph::OpIndex>{0, 2}));
  EXPECT_EQ(parameter.pieces[1].ops, (Interval<graph::OpIndex>{4, 7}));
}

TEST(SwapAdvisorDecoder, NamesAnOpThatLacksRoomByNoSchedule) {
  const SmallStep step({"wr", "wr", "wr"});
  const PlanRequest request{step.graph, step.profile, step.machine, {kGiB, kGiB}};
  const Drawn drawn(request);
  const std::vector<graph::OpIndex> order{0, 1};
  EXPECT_FALSE(drawn.decoder.decode(order, std::vector<char>(drawn.decoder.size_count(), 1), 2 * kMiB).has_value());
}

// Who comes takes the place of one of its own size while there is one, though a smaller one is needed later.
TEST(SwapAdvisorDecoder, ClassesSayWhoMakesRoom) {
  SmallStep step({"w.....r", ".w...r.", "..wr...", "...wr.."});
  step.graph.tensor(0).bytes = 2 * kMiB;
  const PlanRequest request{step.graph, step.profile, step.machine, {kGiB, kGiB}};
  const Drawn drawn(request);
  ASSERT_EQ(drawn.decoder.size_count(), 2U);
  const std::vector<graph::OpIndex> order{0, 1, 2, 3, 4, 5, 6};
  const auto apart = drawn.decoder.decode(order, std::vector<char>{1, 1}, 4 * kMiB);
  const auto together = drawn.decoder.decode(order, std::vector<char>{1, 0}, 4 * kMiB);
  ASSERT_TRUE(apart && together);
  EXPECT_EQ(apart->schedules[0].pieces.size(), 1U);
  EXPECT_EQ(apart->schedules[1].pieces.size(), 2U);
  EXPECT_EQ(together->schedules[0].pieces.size(), 2U);
  EXPECT_EQ(together->schedules[1].pieces.size(), 1U);
}

TEST(SwapAdvisorSearch, FindsBetterOnesThanItBeginsWith) {
  const PlanningProblem problem(merged_model("inception_v3", 2, 80), "file", 2e9);
  const PlanRequest request = problem.request(0.5);
  const GeneticResult found =
      Drawn(request).bred({.population = 20, .generations = 15, .seconds = 1e6}, request.budgets[memory::kFastTier]);
  ASSERT_GT(found.generations.front().feasible, 0);
  EXPECT_LT(*found.best.front().seconds, 0.995 * found.generations.front().best);
  for (std::size_t i = 1; i < found.generations.size(); ++i) {
    EXPECT_LE(found.generations[i].best, found.generations[i - 1].best) << "the best are kept";
  }
}

TEST(SwapAdvisorSearch, IsTheSameWhateverTheThreadsAndAnotherWithAnotherSeed) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 2e9);
  const PlanRequest request = problem.request(0.5);
  const Drawn drawn(request);
  const auto searched = [&](int threads, std::uint64_t seed) {
    return drawn.bred({.population = 12, .generations = 4, .seconds = 1e6, .threads = threads, .seed = seed},
                      request.budgets[memory::kFastTier]);
  };
  const GeneticResult one = searched(1, 7), three = searched(3, 7), other = searched(1, 8);
  EXPECT_EQ(one.best.front().genes, three.best.front().genes);
  EXPECT_EQ(one.evaluations, three.evaluations);
  EXPECT_NE(one.best.front().genes, other.best.front().genes);
}

TEST(SwapAdvisorSearch, EndsWhenItsTimeIsUpOrSomebodyStopsIt) {
  const PlanningProblem problem(merged_model("inception_v3", 2, 80), "file", 2e9);
  const PlanRequest request = problem.request(0.5);
  const Drawn drawn(request);
  GeneticOptions options{.population = 8, .generations = 1000000, .patience = 0, .seconds = 0.5};
  const auto begin = std::chrono::steady_clock::now();
  const GeneticResult timed = drawn.bred(options, request.budgets[memory::kFastTier]);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 10);
  EXPECT_EQ(timed.end, GeneticEnd::kTime);
  options.seconds = 1e6;
  int asked = 0;
  const GeneticResult stopped = drawn.bred(options, request.budgets[memory::kFastTier], [&] { return ++asked > 20; });
  EXPECT_EQ(stopped.end, GeneticEnd::kStopped);
  EXPECT_FALSE(stopped.best.empty());
}

// Whatever is drawn: a plan that verifies, and in which nothing goes wrong, or an honest answer that there is none.
TEST(SwapAdvisor, PlansWhateverSeedsDraw) {
  int planned = 0, reordered = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem(testing::random_graph(seed % 40), seed % 2 == 0 ? "file" : "optane", 1e9);
    const auto plan = make_plan("swapadvisor:population=4:generations=2:seed=" + std::to_string(seed),
                                problem.request(0.4 + 0.1 * static_cast<double>(seed % 5)));
    if (!plan.ok()) {
      EXPECT_TRUE(wants_more_room(plan.error().code)) << plan.error().message;
      continue;
    }
    ++planned;
    reordered += plan->schedule.empty() ? 0 : 1;
  }
  EXPECT_GE(planned, 120);
  EXPECT_GE(reordered, 10) << "or this shows little";
}

TEST(SwapAdvisor, SaysHowItSearched) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 3e8);
  const auto plan = make_plan("swapadvisor:population=10:generations=5:patience=0", problem.request(0.4));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::map<std::string, std::string> config(plan->planner_config.begin(), plan->planner_config.end());
  EXPECT_EQ(config["generations"], "5");
  EXPECT_EQ(config["ended_by"], "all generations");
  EXPECT_EQ(config["evaluations"], std::to_string(10 + 4 * 8));
  EXPECT_THAT(config["generation_4"], ::testing::HasSubstr("best"));
}

}  // namespace
}  // namespace sluice::planners

// Small tensors that stay in the fast tier share pages with each other, and with nothing that a transfer moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/plan/own_pages.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using T = testing::TinyStep;

Interval<Bytes> pages(const graph::Graph& graph, const Residency& residency) {
  const Bytes end = residency.offset + graph.tensor(residency.tensor).bytes;
  return {align_down(residency.offset, memory::kBlockAlignment), align_up(end, memory::kBlockAlignment)};
}

// Pairs of residencies that are on one page of a tier at one time.
int pairs_on_one_page(const graph::Graph& graph, const Plan& plan) {
  int pairs = 0;
  for (const Residency& a : plan.residencies) {
    for (const Residency& b : plan.residencies) {
      if (&b == &a) break;
      pairs += a.tier == b.tier && a.ops.overlaps(b.ops) && pages(graph, a).overlaps(pages(graph, b)) ? 1 : 0;
    }
  }
  return pairs;
}

// Four small tensors; s goes to the file and comes back.
struct SmallTensors {
  enum : graph::TensorId { kA, kB, kC, kS };
  graph::Graph graph;
  memory::Machine machine = testing::tiny_machine();

  SmallTensors() {
    graph.layers = {"all"};
    for (const char* name : {"a", "b", "c", "s"}) testing::add_tiny_tensor(graph, name, graph::Role::kActivation, 100);
    testing::add_tiny_op(graph, "make", {}, {kA, kB, kC, kS});
    testing::add_tiny_op(graph, "between", {kA}, {});
    testing::add_tiny_op(graph, "use", {kA, kB, kC, kS}, {});
  }

  PlanBuilder builder() const {
    PlanBuilder builder(graph, machine);
    for (const graph::TensorId id : {kA, kB, kC}) builder.add_residency(id, 0, {0, 3});
    const ResidencyIndex made = builder.add_residency(kS, 0, {0, 2});
    const ResidencyIndex kept = builder.add_residency(kS, 1, {1, 3});
    const ResidencyIndex back = builder.add_residency(kS, 0, {2, 3});
    builder.add_migration(kS, made, kept, 0, 1);
    builder.add_migration(kS, kept, back, 1, 2);
    return builder;
  }
};

TEST(SharedPages, SmallTensorsThatStayShareOne) {
  const SmallTensors small;
  const std::vector<Bytes> budgets{2 * memory::kBlockAlignment, kGiB};
  const Plan plan = small.builder().finish(budgets).value();
  EXPECT_THAT(verify_plan(small.graph, small.machine, plan), IsEmpty());
  EXPECT_EQ(plan.arena_bytes[0], 2 * memory::kBlockAlignment) << "one page for three, one for the one that moves";
  EXPECT_EQ(pairs_on_one_page(small.graph, plan), 3);
}

TEST(SharedPages, OwnPagesAreThereForTheAsking) {
  const SmallTensors small;
  PlanBuilder builder = small.builder();
  builder.keep_pages_apart();
  const Plan plan = builder.finish(std::vector<Bytes>{kGiB, kGiB}).value();
  EXPECT_THAT(verify_plan(small.graph, small.machine, plan), IsEmpty());
  EXPECT_EQ(plan.arena_bytes[0], 4 * memory::kBlockAlignment);
}

class SharedPagesVerifier : public ::testing::Test {
 protected:
  std::string first_violation() const {
    const auto violations = verify_plan(small_.graph, small_.machine, plan_);
    return violations.empty() ? "none" : std::string(to_string(violations.front().rule)) + ": " + violations[0].message;
  }
  Residency& residency(std::size_t i) { return plan_.residencies[i]; }

  SmallTensors small_;
  Plan plan_ = small_.builder().finish(std::vector<Bytes>{kGiB, kGiB}).value();
};

TEST_F(SharedPagesVerifier, RefusesTwoOnTheSame64Bytes) {
  residency(1).offset = residency(0).offset + 64;  // a takes 128
  EXPECT_THAT(first_violation(), HasSubstr("no-overlap: tensor 1 'b'"));
}

TEST_F(SharedPagesVerifier, RefusesOffsetsThatAreNoMultipleOf64) {
  residency(1).offset += 32;
  EXPECT_THAT(first_violation(), HasSubstr("is not a multiple of 64"));
}

TEST_F(SharedPagesVerifier, RefusesAMovingTensorInsideAPage) {
  residency(3).offset += 64;
  EXPECT_THAT(first_violation(), HasSubstr("residency 3: offset"));
  EXPECT_THAT(first_violation(), HasSubstr("is not a multiple of 4096"));
}

TEST_F(SharedPagesVerifier, RefusesAnythingBehindAMovingTensorOnItsPage) {
  residency(0).offset = residency(5).offset + 128;  // where s is brought back to
  plan_.arena_bytes[0] += memory::kBlockAlignment;
  EXPECT_THAT(first_violation(), HasSubstr("no-overlap"));
}

TEST_F(SharedPagesVerifier, RefusesSmallTensorsInsideAPageOfASlowTier) {
  small_.machine = testing::tiny_machine(memory::TierKind::kEmulated);
  PlanBuilder builder(small_.graph, small_.machine);
  for (const graph::TensorId id : {0, 1, 2, 3}) builder.add_residency(id, 1, {0, 3});
  for (graph::OpIndex op = 0; op < 3; ++op) {
    for (const graph::TensorId id : {0, 1, 2, 3}) builder.set_tensor_tier(op, id, 1);
  }
  plan_ = builder.finish(std::vector<Bytes>{kGiB, kGiB}).value();
  EXPECT_EQ(first_violation(), "none");
  EXPECT_EQ(plan_.arena_bytes[1], 4 * memory::kBlockAlignment);
  residency(1).offset += 64;
  EXPECT_THAT(first_violation(), HasSubstr("residency 1: offset"));
}

TEST(SharedPages, AreRightInAnyOrder) {
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const graph::Graph graph = testing::random_graph(seed, {.most_bytes = memory::kBlockAlignment});
    const memory::Machine machine = testing::random_machine(seed);
    const Plan plan = testing::random_plan(seed, graph, machine);
    ASSERT_THAT(verify_plan(graph, machine, plan), IsEmpty());
    ASSERT_EQ(testing::find_race(graph, program::lower_plan(graph, machine, plan).value(), seed), std::nullopt);
    shared += pairs_on_one_page(graph, plan);
  }
  EXPECT_GT(shared, 150) << "or this shows nothing";
}

TEST(OwnPages, GiveEveryTensorOfAnyPlanPagesOfItsOwn) {
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const graph::Graph graph = testing::random_graph(seed, {.most_bytes = memory::kBlockAlignment});
    const memory::Machine machine = testing::random_machine(seed);
    const Plan plan = testing::random_plan(seed, graph, machine);
    shared += pairs_on_one_page(graph, plan);
    const Plan apart = on_own_pages(graph, machine, plan);
    EXPECT_THAT(verify_plan(graph, machine, apart), IsEmpty());
    EXPECT_EQ(pairs_on_one_page(graph, apart), 0);
    EXPECT_EQ(apart.migrations, plan.migrations);
  }
  EXPECT_GT(shared, 100) << "or this shows nothing";
}

}  // namespace
}  // namespace sluice::plan

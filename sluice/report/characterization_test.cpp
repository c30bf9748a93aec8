#include "sluice/report/characterization.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/drawn_step.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::report {
namespace {

using Step = testing::DrawnStep;
using Heats = std::array<Bytes, kHeats>;

std::vector<std::string> names(const std::vector<LayerBucket>& buckets) {
  std::vector<std::string> result;
  for (const LayerBucket& bucket : buckets) result.push_back(bucket.name);
  return result;
}

TEST(LayerBucketsTest, AreThePapersForAStepOf64Layers) {
  EXPECT_EQ(names(layer_buckets(64)), (std::vector<std::string>{"1", "2-8", "9-24", "25-40", "41-56", "57-64"}));
}

TEST(LayerBucketsTest, AreScaledWithoutGapsOrEmptyOnes) {
  EXPECT_EQ(names(layer_buckets(128)), (std::vector<std::string>{"1", "2-16", "17-48", "49-80", "81-112", "113-128"}));
  EXPECT_EQ(names(layer_buckets(4)), (std::vector<std::string>{"1", "2", "3", "4"}));
  for (int layers = 1; layers < 300; ++layers) {
    int next = 1;
    for (const LayerBucket& bucket : layer_buckets(layers)) {
      EXPECT_EQ(bucket.layers.begin, next) << layers;
      EXPECT_GT(bucket.layers.end, next) << layers;
      next = bucket.layers.end;
    }
    EXPECT_EQ(next, layers + 1);
  }
}

TEST(CharacterizationTest, LifetimesCountLayersFromFirstToLastUse) {
  const Step step;
  const Lifetimes found = measure_lifetimes(step.graph, step.liveness);
  EXPECT_EQ(found.short_lived, (BySize{{1, 4095}, {1, 8192}}));
  EXPECT_EQ(found.long_lived, (BySize{{2, 516}, {3, 69632}}));
  EXPECT_EQ(found.persistent, (BySize{{}, {1, 8192}}));
  const std::vector<std::pair<std::string, BySize>> expected{{"1", {{1, 4095}, {1, 8192}}},
                                                             {"2", {{1, 512}, {1, 20480}}},
                                                             {"3", {{1, 4}, {}}},
                                                             {"4", {{}, {1, 40960}}},
                                                             {">4", {{}, {1, 8192}}}};
  ASSERT_EQ(found.rows.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found.rows[i].bucket.name, expected[i].first);
    EXPECT_EQ(found.rows[i].tensors, expected[i].second) << expected[i].first;
  }
}

TEST(CharacterizationTest, SmallIsBelowOnePage) {
  BySize tensors;
  tensors.add(4095);
  tensors.add(4096);
  EXPECT_EQ(tensors, (BySize{{1, 4095}, {1, 4096}}));
}

void expect_row(const Distances::Row& row, const std::string& name, std::int64_t uses, Bytes bytes,
                std::int64_t accesses) {
  EXPECT_EQ(row.bucket.name, name);
  EXPECT_EQ(row.uses, uses) << name;
  EXPECT_EQ(row.bytes, bytes) << name;
  EXPECT_EQ(row.accesses, accesses) << name;
}

TEST(CharacterizationTest, DistancesAreFromTheUseBeforeAndWrapForPersistentTensors) {
  const Step step;
  const Distances found = measure_distances(step.graph, step.liveness, &step.accesses);
  ASSERT_EQ(found.rows.size(), 5U);
  expect_row(found.rows[0], "0", 2, 49152, 12);
  expect_row(found.rows[1], "1", 3, 29184, 53);  // w at op 0: one layer behind its update in the step before
  expect_row(found.rows[2], "2", 0, 0, 0);
  expect_row(found.rows[3], "3", 2, 49152, 14);
  expect_row(found.rows[4], "4", 0, 0, 0);
  expect_row(found.first_uses, "first use", 6, 74243, 238);
  EXPECT_EQ(measure_distances(step.graph, step.liveness, nullptr).rows[0].accesses, 0);
}

TEST(CharacterizationTest, LiveBytesAreSplitByLifetime) {
  const Step step;
  const LiveBytes found = measure_live_bytes(step.graph, step.liveness);
  EXPECT_EQ(found.persistent, std::vector<Bytes>(6, 8192));
  EXPECT_EQ(found.long_lived, (std::vector<Bytes>{40960, 41472, 41476, 61444, 61444, 4}));
  EXPECT_EQ(found.short_lived, (std::vector<Bytes>{4095, 0, 0, 0, 8192, 8192}));
  EXPECT_EQ(found.peak, 77828);
  EXPECT_EQ(found.peak_op, 4);
}

TEST(CharacterizationTest, HeatHasThePapersBounds) {
  EXPECT_EQ(heat_of(0), Heat::kCold);
  EXPECT_EQ(heat_of(9.99), Heat::kCold);
  EXPECT_EQ(heat_of(10), Heat::kWarm);
  EXPECT_EQ(heat_of(100), Heat::kWarm);
  EXPECT_EQ(heat_of(100.01), Heat::kHot);
}

TEST(CharacterizationTest, TensorsAreHotOrColdByTheirAveragePage) {
  const Step step;
  const HotAndCold found =
      measure_heat(step.graph, step.liveness, profile::accesses_by_tensor(step.graph, step.accesses));
  const auto row = [&](Heat heat) { return found.rows[as_index(heat)]; };
  EXPECT_EQ(row(Heat::kCold).tensors, (TensorGroup{4, 49668}));
  EXPECT_EQ(row(Heat::kWarm).tensors, (TensorGroup{2, 28672}));
  EXPECT_EQ(row(Heat::kHot).tensors, (TensorGroup{1, 4095}));
  EXPECT_EQ(row(Heat::kCold).peak, 49668);
  EXPECT_EQ(row(Heat::kWarm).peak, 28672);
  EXPECT_EQ(row(Heat::kCold).accesses, 39);
  EXPECT_EQ(row(Heat::kWarm).accesses, 77);
  EXPECT_EQ(row(Heat::kHot).accesses, 201);
}

TEST(CharacterizationTest, FalseSharingTellsNeighboursFromSuccessors) {
  const Step step;
  const FalseSharing found = measure_false_sharing(step.graph, step.liveness, {step.offsets, step.end},
                                                   profile::accesses_by_tensor(step.graph, step.accesses));
  EXPECT_EQ(found.tensor_bytes, (Heats{49668, 28672, 4095}));
  EXPECT_EQ(found.page_bytes, (Heats{12 * profile::kPageBytes, 7 * profile::kPageBytes, profile::kPageBytes}));
  EXPECT_EQ(found.bytes_of[0], (Heats{49152, 516, 0}));
  EXPECT_EQ(found.bytes_of[1], (Heats{0, 24576, 4096}));
  EXPECT_EQ(found.bytes_of[2], (Heats{0, 0, 4095}));
  EXPECT_EQ(found.misclassed, 516 + 4096);
  EXPECT_EQ(found.misclassed_together, 4);  // l lives beside g; t is gone before g comes, s before d
}

TEST(CharacterizationTest, WithoutAccessesThereIsNoHeat) {
  const Step step;
  const Characterization found = characterize(step.graph, step.liveness, nullptr);
  EXPECT_FALSE(found.heat.has_value());
  EXPECT_FALSE(found.false_sharing.has_value());
  EXPECT_EQ(found.layers, 4);
  EXPECT_TRUE(characterize(step.graph, step.liveness, &step.accesses).false_sharing.has_value());
}

TEST(CharacterizationTest, RefusesAccessesOfAnotherGraph) {
  Step step;
  step.accesses.graph_fingerprint = "another";
  EXPECT_THROW(characterize(step.graph, step.liveness, &step.accesses), std::logic_error);
}

// The same, one page at a time.
FalseSharing by_single_pages(const graph::Graph& graph, const layout::PageLayout& layout,
                             const std::vector<profile::TensorAccesses>& accesses) {
  FalseSharing found;
  for (std::int64_t page = 0; page < layout::page_count(layout, profile::kPageBytes); ++page) {
    std::vector<graph::TensorId> here;
    double all = 0;
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      if (!pages_of(layout, graph, id, profile::kPageBytes).contains(page)) continue;
      here.push_back(id);
      all += accesses[as_index(id)].per_page;
    }
    const auto heat = as_index(heat_of(all));
    if (!here.empty()) found.page_bytes[heat] += profile::kPageBytes;
    for (const graph::TensorId id : here) {
      const Bytes offset = layout.offsets[as_index(id)];
      const Bytes begin = std::max(offset, page * profile::kPageBytes);
      const Bytes end = std::min(offset + graph.tensor(id).bytes, (page + 1) * profile::kPageBytes);
      const auto own = as_index(heat_of(accesses[as_index(id)].per_page));
      found.bytes_of[own][heat] += end - begin;
      found.tensor_bytes[own] += end - begin;
      if (own != heat) found.misclassed += end - begin;
    }
  }
  return found;
}

TEST(CharacterizationTest, FalseSharingOfRandomGraphsIsThatOfTheirSinglePages) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const graph::Liveness liveness = graph::analyze_liveness(graph);
    const layout::PageLayout layout = layout::allocation_order_layout(graph, liveness);
    testing::SeededRandom random(seed);
    std::vector<profile::TensorAccesses> accesses(graph.tensors().size());
    for (profile::TensorAccesses& each : accesses) each.per_page = random.between(0, 40);  // whole: sums are exact
    const FalseSharing found = measure_false_sharing(graph, liveness, layout, accesses);
    const FalseSharing expected = by_single_pages(graph, layout, accesses);
    EXPECT_EQ(found.tensor_bytes, expected.tensor_bytes);
    EXPECT_EQ(found.page_bytes, expected.page_bytes);
    EXPECT_EQ(found.bytes_of, expected.bytes_of);
    EXPECT_EQ(found.misclassed, expected.misclassed);
    EXPECT_LE(found.misclassed_together, found.misclassed);
  }
}

TEST(CharacterizationTest, EveryTensorAndUseOfARandomGraphIsCountedOnce) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const Characterization found = characterize(graph, graph::analyze_liveness(graph), nullptr);
    const std::int64_t tensors = found.lifetimes.short_lived.all().tensors + found.lifetimes.long_lived.all().tensors;
    std::int64_t in_rows = 0;
    for (const Lifetimes::Row& row : found.lifetimes.rows) in_rows += row.tensors.all().tensors;
    EXPECT_EQ(in_rows, tensors);
    std::int64_t uses = found.distances.first_uses.uses;
    for (const Distances::Row& row : found.distances.rows) uses += row.uses;
    std::size_t operands = 0;
    for (const graph::Op& op : graph.ops()) operands += graph::distinct_operands(op).size();
    EXPECT_EQ(uses, static_cast<std::int64_t>(operands));
    EXPECT_LE(found.bound.bytes(), found.live.peak + found.bound.largest_long_lived_bytes);
  }
}

}  // namespace
}  // namespace sluice::report

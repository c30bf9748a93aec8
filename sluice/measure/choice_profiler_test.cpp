#include "sluice/measure/choice_profiler.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sluice/graph/choose.hpp"
#include "sluice/testing/mixing_graph.hpp"

namespace sluice::measure {
namespace {

// Two ops, the first with two implementations.
graph::Graph op_with_two_kernels() {
  graph::Graph graph;
  graph::Tensor tensor;
  tensor.shape = {1000};
  for (int i = 0; i < 3; ++i) graph.add_tensor(tensor);
  const graph::TensorId scratch = graph.add_tensor(
      {.shape = {graph::kLeastWorkspace}, .dtype = graph::DType::kU8, .role = graph::Role::kWorkspace});
  graph.add_op({.name = "softmax",
                .kind = graph::OpKind::kSoftmax,
                .inputs = {0},
                .outputs = {1, scratch},
                .implementations = {{"direct", 0}, {"winograd", 8192}}});
  graph.add_op(
      {.name = "relu", .kind = graph::OpKind::kRelu, .inputs = {1}, .outputs = {2}, .implementations = {{"loop", 0}}});
  return graph;
}

class ChoiceProfilerTest : public ::testing::Test {
 protected:
  ChoiceProfilerTest() {
    machine_.tiers.emplace_back();
    machine_.threads = 2;
  }
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  profile::ProfileCache open_cache() const {
    return profile::ProfileCache::open(machine_.compute_fingerprint(), folder_);
  }

  memory::Machine machine_;
  testing::MixingGraph compiled_{op_with_two_kernels()};
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("sluice_choices_" + std::to_string(::getpid()) + "_" +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ChoiceProfilerTest, MeasuresOnlyTheOpsThatHaveTheImplementation) {
  profile::ProfileCache cache = open_cache();
  int both = 0;  // samples wanted of two ops
  profile::Profile profile =
      measure_profile(compiled_, machine_, cache, {.on_progress = [&](int, int of) { both = of; }}).value();
  int total = 0;
  ASSERT_TRUE(measure_implementations(compiled_, machine_, cache, profile, [&](int, int of) { total = of; }).ok());
  EXPECT_EQ(total, both / 2) << "relu has one, which is known";
  ASSERT_EQ(profile.choices.size(), 1u);
  const profile::OpTimes& times = *profile.choices.at({1, kMainProcessor});
  ASSERT_EQ(times.warm.size(), 2u);
  EXPECT_GT(times.warm[0], 0);
  EXPECT_EQ(times.warm[1], profile.op_seconds[1]);

  profile::Profile again = measure_profile(compiled_, machine_, cache).value();
  total = 0;
  ASSERT_TRUE(measure_implementations(compiled_, machine_, cache, again, [&](int, int of) { total = of; }).ok());
  EXPECT_EQ(total, 0) << "the cache knows it";
  EXPECT_EQ(*again.choices.at({1, kMainProcessor}), times);
}

TEST_F(ChoiceProfilerTest, KeepsAProcessorsTimesWhereAMachineWithItsThreadsFindsThem) {
  machine_.processors = {{.name = "device", .threads = 2}, {.name = "host", .threads = 1}};
  profile::ProfileCache cache = open_cache();
  profile::Profile profile = measure_profile(compiled_, machine_, cache).value();
  ASSERT_TRUE(measure_processors(compiled_, machine_, cache, profile).ok());
  ASSERT_TRUE(profile.choices.contains({0, 1}));
  EXPECT_EQ(profile.choices.at({0, 1})->warm.size(), 2u);

  memory::Machine alone = machine_;
  alone.processors.clear();
  alone.threads = 1;
  profile::ProfileCache its_cache = profile::ProfileCache::open(alone.compute_fingerprint(), folder_);
  const profile::Profile there = measure_profile(compiled_, alone, its_cache).value();
  EXPECT_EQ(there.op_seconds[1], profile.choices.at({0, 1})->warm[1]);
}

}  // namespace
}  // namespace sluice::measure

#include "sluice/train/variants/variant_training.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/testing/small_models.hpp"

namespace sluice::train {
namespace {

using ::testing::HasSubstr;

memory::Machine file_machine(int threads) {
  return *memory::make_machine({.threads = threads, .slow = {{"file"}}, .spill_path = ::testing::TempDir()});
}

MemorySize size_of_text(const std::string& text) { return *parse_memory_size(text); }

// What a run of some steps came to, and what it asked for on the way.
struct VariantRun {
  std::vector<float> losses;
  std::string hash;
  Bytes moved = 0;
  std::vector<std::string> profiled;  // fingerprints of the graphs that were profiled, in order
  std::vector<std::string> planned;   // keys, in order
  VariantCosts costs;
  std::map<std::string, std::int64_t> steps;  // by key
};

// Op times are given, by the bytes that an op touches, so that nothing has to be timed.
profile::Profile profile_by_bytes(const graph::Graph& graph) {
  profile::Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.provenance = memory::Provenance::kGiven;
  for (const graph::Op& op : graph.ops()) {
    Bytes bytes = 0;
    for (const graph::TensorId id : op.inputs) bytes += graph.tensor(id).bytes;
    profile.op_seconds.push_back(1e-6 + static_cast<double>(bytes) * 1e-9);
  }
  return profile;
}

class VariantTrainingTest : public ::testing::TestWithParam<int> {
 protected:
  static VariantSettings settings(std::vector<VariantKey> keys,
                                  std::function<Result<Workload>(const VariantKey&)> build) {
    VariantSettings settings;
    settings.key_of = [keys](std::int64_t step) { return keys.at(as_index(step)); };
    settings.build = std::move(build);
    settings.profile = [](Workload& workload) { return profile_by_bytes(workload.graph()); };
    settings.reference = *std::ranges::max_element(keys, {}, &VariantKey::size);
    return settings;
  }

  static VariantRun run(VariantSettings settings, std::int64_t steps, int threads) {
    VariantRun run;
    const auto profile = settings.profile;
    settings.profile = [&run, profile](Workload& workload) {
      run.profiled.push_back(workload.graph().fingerprint());
      return profile(workload);
    };
    settings.on_planned = [&](const Variant& variant) { run.planned.push_back(to_string(variant.key)); };
    auto training = VariantTraining::create(file_machine(threads), settings);
    SLUICE_CHECK(training.ok(), training.error().message);
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto outcome = (*training)->run_step(step, 0.05F);
      SLUICE_CHECK(outcome.ok(), outcome.error().message);
      run.losses.push_back(outcome->loss);
      EXPECT_EQ(outcome->variant, to_string(settings.key_of(step)));
      run.moved += std::accumulate(outcome->trace.link_bytes.begin(), outcome->trace.link_bytes.end(), Bytes{0});
    }
    run.hash = *(*training)->hash_parameters();
    run.costs = (*training)->costs();
    for (const auto& [key, variant] : (*training)->variants()) {
      run.steps[to_string(key)] = variant.steps;
      EXPECT_EQ(variant.plan().graph_fingerprint, variant.workload.graph().fingerprint());
    }
    return run;
  }

  // Runs with everything in fast memory, then by sentinel in `fast`: the same bits.
  static VariantRun run_both(VariantSettings settings, std::int64_t steps, int threads, const std::string& fast) {
    settings.planner = "fast-only";
    const VariantRun expected = run(settings, steps, threads);
    EXPECT_EQ(expected.moved, 0);
    EXPECT_NE(expected.losses.front(), expected.losses.back());
    settings.planner = "sentinel";
    settings.fast.size = size_of_text(fast);
    VariantRun actual = run(settings, steps, threads);
    EXPECT_EQ(testing::bits_of(actual.losses), testing::bits_of(expected.losses));
    EXPECT_EQ(actual.hash, expected.hash);
    EXPECT_GT(actual.moved, 0);
    return actual;
  }

  static std::function<Result<Workload>(const VariantKey&)> by_length(const std::string& model, int threads,
                                                                      std::int64_t classes = 0) {
    const auto entry = std::ranges::find(models::models(), model, &models::ModelEntry::name);
    WorkloadOptions options{.model = model, .shape = testing::small_options(*entry), .threads = threads};
    options.optimizer.optimizer = graph::Optimizer::kAdam;
    if (classes > 0) options.shape.classes = classes;
    return [options](const VariantKey& key) {
      WorkloadOptions each = options;
      each.shape.sequence = key.size;
      return build_workload(each);
    };
  }
};

std::vector<VariantKey> lengths(const std::vector<std::int64_t>& sizes) {
  std::vector<VariantKey> keys;
  for (const std::int64_t size : sizes) keys.push_back({"", size});
  return keys;
}

// Five lengths in buckets of their own, then a sixth in the first one's bucket, then a seventh in a new bucket.
void expect_a_profile_a_bucket(const VariantRun& run) {
  EXPECT_THAT(run.planned,
              ::testing::ElementsAre("size 32", "size 12", "size 16", "size 20", "size 26", "size 13", "size 18"));
  EXPECT_EQ(run.profiled.size(), 6U);
  EXPECT_EQ(std::set(run.profiled.begin(), run.profiled.end()).size(), 6U) << "no graph is profiled twice";
  EXPECT_EQ(run.costs.profiles_measured, 6);
  EXPECT_EQ(run.costs.profiles_estimated, 1);
  EXPECT_EQ(run.costs.plans, 7);
  EXPECT_EQ(run.costs.switches, 11) << "32 to start with, then every step but two has another length than the last";
  const std::map<std::string, std::int64_t> steps{{"size 12", 3}, {"size 13", 2}, {"size 16", 1}, {"size 18", 1},
                                                  {"size 20", 2}, {"size 26", 2}, {"size 32", 2}};
  EXPECT_EQ(run.steps, steps);
}

TEST_P(VariantTrainingTest, FiveLengthsThenTwoMore) {
  const std::vector<VariantKey> keys = lengths({12, 12, 16, 20, 26, 32, 20, 13, 13, 26, 18, 32, 12});
  for (const std::string model : {"lstm", "bert_base"}) {
    SCOPED_TRACE(model);
    VariantSettings settings = VariantTrainingTest::settings(keys, by_length(model, GetParam()));
    settings.buckets = SizeBuckets(12, 32);
    expect_a_profile_a_bucket(run_both(settings, std::ssize(keys), GetParam(), "50%"));
  }
}

// A policy's session has memory of its own: what the variants before have left comes by way of the disk.
TEST_P(VariantTrainingTest, UnderDtr) {
  const std::vector<VariantKey> keys = lengths({12, 20, 12, 20});
  VariantSettings settings = VariantTrainingTest::settings(keys, by_length("lstm", GetParam()));
  settings.planner = "fast-only";
  const VariantRun expected = run(settings, std::ssize(keys), GetParam());
  settings.planner = "dtr";
  settings.fast.size = size_of_text("2MiB");
  const VariantRun actual = run(settings, std::ssize(keys), GetParam());
  EXPECT_EQ(testing::bits_of(actual.losses), testing::bits_of(expected.losses));
  EXPECT_EQ(actual.hash, expected.hash);
}

// conv, then blocks as the path says, then a classifier: "" none, "a" one block, "ab" two, "b" the second alone.
ForwardModel with_blocks(const std::string& path) {
  graph::GraphBuilder builder("blocks");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(4, 3, 16, 16, 10);
  builder.begin_layer("conv");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1}), graph::Activation::kRelu);
  for (const char block : path) {
    builder.begin_layer(std::string("block_") + block);
    const graph::TensorId y = builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1});
    x = builder.batch_norm(builder.add(x, y), graph::Activation::kRelu);
  }
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 10));
  return {*builder.finish(), nullptr, {}};
}

TEST_P(VariantTrainingTest, NewPathsOfControlFlowAreProfiled) {
  const auto build = [](const VariantKey& key) {
    return build_workload(with_blocks(key.path == "none" ? "" : key.path), {.threads = GetParam()});
  };
  const std::vector<VariantKey> keys{{"ab"}, {"none"}, {"ab"}, {"none"}, {"none"}, {"b"}, {"ab"}, {"b"}};
  VariantSettings settings = VariantTrainingTest::settings(keys, build);
  settings.reference = {"ab"};
  const VariantRun run = run_both(settings, 8, GetParam(), "70%");
  EXPECT_THAT(run.planned, ::testing::ElementsAre("path ab", "path none", "path b"));
  EXPECT_EQ(run.profiled.size(), 3U);
  EXPECT_EQ(run.costs.profiles_estimated, 0);
  EXPECT_EQ(run.costs.switches, 6);
}

// Two names for one graph: what changes hands between steps is every bit of the state.
TEST_P(VariantTrainingTest, ChangingBetweenEqualGraphsChangesNothing) {
  const auto build = by_length("lstm", GetParam());
  const auto same_length = [build](const VariantKey&) { return build({"", 12}); };
  VariantRun turns = run(settings({{"x"}, {"y"}, {"x"}, {"y"}}, same_length), 4, GetParam());
  EXPECT_EQ(turns.costs.switches, 3);

  auto workload = build({"", 12});
  ASSERT_TRUE(workload.ok());
  const memory::Machine machine = file_machine(GetParam());
  const auto plan = plan_workload(*workload, machine, profile_by_bytes(workload->graph()), "fast-only", {});
  ASSERT_TRUE(plan.ok());
  auto session = Session::create(*workload, machine, *plan, {});
  ASSERT_TRUE(session.ok());
  std::vector<float> losses;
  for (std::int64_t step = 0; step < 4; ++step) losses.push_back((*session)->run_step(step, 0.05F)->loss);
  EXPECT_EQ(testing::bits_of(turns.losses), testing::bits_of(losses));
  EXPECT_EQ(turns.hash, *ParkedTensors::park((*session)->parameters(), ::testing::TempDir())->hash());
}

TEST_P(VariantTrainingTest, ValidationInBetweenChangesNothing) {
  const std::string text =
      std::filesystem::path(::testing::TempDir()) / fmt::format("variant_training_text.{}", ::getpid());
  std::ofstream(text) << std::string(3000, 'a') << std::string(3000, 'b');
  VariantSettings settings =
      VariantTrainingTest::settings(lengths({12, 16, 12, 16}), by_length("gpt2_small", GetParam(), 256));
  settings.session = {.data = "tokens:" + text, .validate = true};
  const VariantRun expected = run(settings, 4, GetParam());
  auto training = VariantTraining::create(file_machine(GetParam()), settings);
  ASSERT_TRUE(training.ok()) << training.error().message;
  std::vector<float> losses;
  for (std::int64_t step = 0; step < 4; ++step) {
    losses.push_back((*training)->run_step(step, 0.05F)->loss);
    const auto result = (*training)->validate(2);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->predictions, 2 * 2 * 16) << "on the reference's graph";
  }
  EXPECT_EQ(testing::bits_of(losses), testing::bits_of(expected.losses));
  EXPECT_EQ(*(*training)->hash_parameters(), expected.hash);
  EXPECT_EQ((*training)->costs().switches, expected.costs.switches);
  std::filesystem::remove(text);
}

std::filesystem::path checkpoint_of_this_test() {
  return std::filesystem::path(::testing::TempDir()) / fmt::format("variants.{}.ckpt", ::getpid());
}

// Stopped behind a step of one length, it goes on with another; 20 is met before and 13 only after.
TEST_P(VariantTrainingTest, ACheckpointGoesOnToTheSameBits) {
  const std::filesystem::path path = checkpoint_of_this_test();
  VariantSettings all =
      VariantTrainingTest::settings(lengths({12, 20, 20, 16, 13, 20, 16}), by_length("bert_base", GetParam()));
  all.planner = "sentinel";
  all.fast.size = size_of_text("50%");
  all.keys = "lengths 12, 13, 16, 20";
  const VariantRun expected = run(all, 7, GetParam());
  {
    auto first = VariantTraining::create(file_machine(GetParam()), all);
    ASSERT_TRUE(first.ok()) << first.error().message;
    for (std::int64_t step = 0; step < 4; ++step) ASSERT_TRUE((*first)->run_step(step, 0.05F).ok());
    ASSERT_TRUE((*first)->save_checkpoint(path, 4).ok());
    EXPECT_EQ((*first)->run_step(4, 0.05F)->loss, expected.losses[4]) << "a checkpoint changes nothing";
  }
  all.planner = "fast-only";
  all.fast.size.reset();
  auto second = VariantTraining::create(file_machine(GetParam()), all);
  ASSERT_TRUE(second.ok()) << second.error().message;
  ASSERT_TRUE((*second)->run_step(0, 0.05F).ok()) << "what is loaded replaces what is there";
  const auto next = (*second)->load_checkpoint(path);
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(*next, 4);
  for (std::int64_t step = 4; step < 7; ++step) {
    EXPECT_EQ((*second)->run_step(step, 0.05F)->loss, expected.losses[as_index(step)]);
  }
  EXPECT_EQ(*(*second)->hash_parameters(), expected.hash);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Threads, VariantTrainingTest, ::testing::Values(1, 2));

class VariantTrainingErrorTest : public VariantTrainingTest {};

TEST_F(VariantTrainingErrorTest, BudgetTooSmallNamesTheVariantAndWhatItNeeds) {
  VariantSettings settings = VariantTrainingTest::settings(lengths({12, 16}), by_length("lstm", 1));
  settings.fast.size = size_of_text("64KiB");
  const auto training = VariantTraining::create(file_machine(1), settings);
  ASSERT_FALSE(training.ok());
  EXPECT_EQ(training.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(training.error().message, HasSubstr("size 16: joint cannot train lstm in 64.0 KiB"));
  EXPECT_THAT(training.error().message, HasSubstr("the smallest budget it can use is"));
}

TEST_F(VariantTrainingErrorTest, ACheckpointOfOtherRunsIsRefusedAndNothingIsChanged) {
  const std::filesystem::path path = checkpoint_of_this_test();
  VariantSettings settings = VariantTrainingTest::settings(lengths({16, 12, 16}), by_length("lstm", 1));
  const VariantRun expected = run(settings, 3, 1);
  settings.keys = "lengths 12, 16";
  auto training = VariantTraining::create(file_machine(1), settings).value();
  ASSERT_TRUE(training->save_checkpoint(path, 0).ok());
  settings.keys = "lengths 12, 13, 16";
  auto other = VariantTraining::create(file_machine(1), settings).value();
  EXPECT_EQ(other->run_step(0, 0.05F)->loss, expected.losses[0]);
  const auto lengths_differ = other->load_checkpoint(path);
  ASSERT_FALSE(lengths_differ.ok());
  EXPECT_EQ(lengths_differ.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(lengths_differ.error().message, HasSubstr("lengths 12, 16"));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(training->load_checkpoint(path).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(other->run_step(1, 0.05F)->loss, expected.losses[1]);
  EXPECT_EQ(other->run_step(2, 0.05F)->loss, expected.losses[2]);
  EXPECT_EQ(*other->hash_parameters(), expected.hash);
  std::filesystem::remove(path);
}

// An error between two steps loses nothing: the run can go on with a variant that works.
TEST_F(VariantTrainingErrorTest, AVariantThatCannotBeBuiltLeavesTheParametersAsTheyWere) {
  const auto build = by_length("lstm", 1);
  const auto sometimes = [build](const VariantKey& key) -> Result<Workload> {
    if (key.size == 13) return Error{ErrorCode::kBadInput, "no such length"};
    return build(key);
  };
  const VariantRun expected = run(settings(lengths({16, 16}), build), 2, 1);
  auto training =
      VariantTraining::create(file_machine(1), VariantTrainingTest::settings(lengths({16, 16, 13}), sometimes));
  ASSERT_TRUE(training.ok());
  EXPECT_EQ((*training)->run_step(0, 0.05F)->loss, expected.losses[0]);
  const auto failed = (*training)->run_step(2, 0.05F);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "size 13: no such length");
  EXPECT_EQ((*training)->run_step(1, 0.05F)->loss, expected.losses[1]);
  EXPECT_EQ(*(*training)->hash_parameters(), expected.hash);
}

}  // namespace
}  // namespace sluice::train

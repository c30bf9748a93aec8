#include "sluice/train/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "sluice/testing/stored_tensors.hpp"
#include "sluice/testing/thread_ranks.hpp"
#include "sluice/train/parameters/parked_tensors.hpp"

namespace sluice::train {
namespace {

using ::testing::HasSubstr;
using testing::MapExecutor;
using testing::ReversingGraph;
using testing::tensor_of;

graph::Graph small_graph() {
  graph::Graph graph;
  graph.add_tensor(testing::tensor_of("w", {2, 3}, graph::Role::kParameter, {graph::Init::Kind::kNormal, 0.5F, 7, 0}));
  graph.add_tensor(testing::tensor_of("activation", {9}, graph::Role::kActivation));
  graph.add_tensor(
      testing::tensor_of("w.tail", {2}, graph::Role::kParameter, {graph::Init::Kind::kNormal, 0.5F, 7, 4}));
  graph.add_tensor(
      testing::tensor_of("bn", {2, 2}, graph::Role::kParameter, {graph::Init::Kind::kScaleShift, 0, 0, 0}));
  graph.add_tensor(
      testing::tensor_of("running", {2, 2}, graph::Role::kBuffer, {graph::Init::Kind::kRunningStats, 0, 0, 0}));
  graph.add_tensor(testing::tensor_of("v", {2, 3}, graph::Role::kOptimizerState));
  return graph;
}

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() : compiled_(small_graph()), access_(compiled_, executor_) {
    path_ = std::filesystem::path(::testing::TempDir()) /
            (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".ckpt");
    EXPECT_TRUE(initialise_parameters(access_, 11).ok());
  }
  ~CheckpointTest() override { std::filesystem::remove(path_); }

  std::vector<float> values(graph::TensorId tensor) {
    const auto read = access_.read(tensor);
    EXPECT_TRUE(read.ok());
    return {read->begin(), read->end()};
  }
  std::string hash() { return *parameter_hash(access_); }
  Status write_to(const std::filesystem::path& path, std::int64_t step) {
    Status written;
    const Status read = write_checkpoint(path, identity_, step, access_, written);
    return read.ok() ? written : read;
  }
  void write(std::int64_t step = 42) {
    const Status status = write_to(path_, step);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  // The error of reading into a fresh executor, which must not have been touched.
  Error read_error(const CheckpointIdentity& identity) {
    testing::MapExecutor executor;
    ParameterAccess access(compiled_, executor);
    const auto step = read_checkpoint(path_, identity, access);
    EXPECT_FALSE(step.ok());
    EXPECT_EQ(executor.writes, 0);
    return step.ok() ? Error{} : step.error();
  }
  std::string read_error() { return read_error(identity_).message; }

  testing::ReversingGraph compiled_;
  testing::MapExecutor executor_;
  ParameterAccess access_;
  std::filesystem::path path_;
  CheckpointIdentity identity_{"resnet20", "sgd, fp32", "f00d", 8, 11, "synthetic"};
};

TEST_F(CheckpointTest, InitialValuesFollowTheirSpecification) {
  EXPECT_EQ(values(3), (std::vector<float>{1, 1, 0, 0}));
  EXPECT_EQ(values(4), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(values(5), std::vector<float>(6, 0.0F));
  const auto whole = values(0);
  const auto tail = values(2);
  EXPECT_EQ(tail, (std::vector<float>{whole[4], whole[5]})) << "a slice starts with its part of the whole";
  EXPECT_NE(whole[0], whole[1]);
}

// What came with a model: element i of a parameter called "given" is 100 + i.
class CountingValues : public graph::GivenValues {
 public:
  Status read(const std::string& source, std::int64_t first_element, std::span<float> values) const override {
    if (source != "given") return Error{ErrorCode::kBadInput, "no values for " + source};
    std::iota(values.begin(), values.end(), static_cast<float>(100 + first_element));
    return {};
  }
};

TEST(InitialValuesTest, UniformAndGivenOnesAreSlicesOfTheWhole) {
  graph::Graph graph;
  const graph::Init uniform{.kind = graph::Init::Kind::kUniform, .stddev = 0.25F, .stream = 9};
  graph::Init tail = uniform;
  tail.first_element = 60;
  graph.add_tensor(testing::tensor_of("u", {100}, graph::Role::kParameter, uniform));
  graph.add_tensor(testing::tensor_of("u.tail", {40}, graph::Role::kParameter, tail));
  for (const auto& [begin, first_element] : {std::pair(2, 6), std::pair(0, 0)}) {
    const graph::Init part{.kind = graph::Init::Kind::kGiven, .first_element = first_element, .source = "given"};
    graph::Tensor slice = testing::tensor_of("g", {2, 3}, graph::Role::kParameter, part);
    graph::cut_rows(slice, {begin, begin + 2});
    graph.add_tensor(slice);
  }
  graph.add_tensor(testing::tensor_of("g[4:6]", {2, 3}, graph::Role::kParameter));  // whole: the model calls it so
  graph.add_tensor(testing::tensor_of("m", {100}, graph::Role::kParameter));
  graph::Tensor master = testing::tensor_of("m.master", {100}, graph::Role::kOptimizerState, uniform);
  master.parameter = "m";
  master.slot = graph::kMaster;
  graph.add_tensor(master);
  EXPECT_TRUE(needs_given_values(graph));
  testing::ReversingGraph compiled(graph);
  testing::MapExecutor executor;
  ParameterAccess access(compiled, executor);
  const CountingValues given;
  ASSERT_TRUE(initialise_parameters(access, 5, &given).ok());
  const std::vector<float> whole = read_whole(access, {"u"}).value();
  const std::vector<float> part = read_whole(access, {"u.tail"}).value();
  EXPECT_EQ(read_whole(access, {"m"}).value(), whole) << "of a parameter with a master, that";
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 60));
  EXPECT_LT(*std::ranges::max_element(whole), 0.25F);
  EXPECT_GT(*std::ranges::max_element(whole), 0.2F);
  EXPECT_GE(*std::ranges::min_element(whole), -0.25F);
  EXPECT_LT(*std::ranges::min_element(whole), -0.2F);
  std::vector<float> expected(12);
  std::iota(expected.begin(), expected.end(), 100.0F);
  EXPECT_EQ(read_whole(access, {"g"}).value(), expected) << "slices in the order of the whole, not of the graph";
  EXPECT_EQ(read_whole(access, {"g[4:6]"}).value(), std::vector<float>(6, 0.0F));
  EXPECT_THAT(read_whole(access, {"m", "momentum"}).error().message, HasSubstr("no 'momentum' of a parameter 'm'"));
  EXPECT_THAT(read_whole(access, {"h"}).error().message, HasSubstr("no parameter 'h'"));
}

TEST_F(CheckpointTest, ParkedTensorsComeBackByName) {
  const std::string before = hash();
  const auto parked = ParkedTensors::park(access_, ::testing::TempDir());
  ASSERT_TRUE(parked.ok()) << parked.error().message;
  ASSERT_TRUE(initialise_parameters(access_, 99).ok());
  ASSERT_NE(hash(), before);
  ASSERT_TRUE(parked->restore(access_).ok());
  EXPECT_EQ(hash(), before);
  graph::Graph other;
  other.add_tensor(testing::tensor_of("w", {3, 3}, graph::Role::kParameter));
  testing::ReversingGraph compiled(other);
  ParameterAccess access(compiled, executor_);
  const Status status = parked->restore(access);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("its 9 elements"));
}

TEST_F(CheckpointTest, SeedAndEveryBitReachTheHash) {
  const std::string first = hash();
  EXPECT_EQ(hash(), first);
  access_.stage(5)[3] = 0x1p-149F;
  std::ranges::fill(access_.stage(5).first(3), 0.0F);
  ASSERT_TRUE(access_.write(5).ok());
  EXPECT_NE(hash(), first);
  ASSERT_TRUE(initialise_parameters(access_, 12).ok());
  EXPECT_NE(hash(), first);
}

TEST_F(CheckpointTest, RestoresEveryTensorAndTheStep) {
  const std::string before = hash();
  write();
  ASSERT_TRUE(initialise_parameters(access_, 99).ok());
  ASSERT_NE(hash(), before);
  const auto step = read_checkpoint(path_, identity_, access_);
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_EQ(*step, 42);
  EXPECT_EQ(hash(), before);
}

TEST_F(CheckpointTest, RejectsEveryTruncation) {
  write();
  const auto size = std::filesystem::file_size(path_);
  for (std::uintmax_t left = size - 1; left < size; --left) {
    std::filesystem::resize_file(path_, left);
    ASSERT_THAT(read_error(), HasSubstr(path_.string())) << left << " bytes left";
  }
}

TEST_F(CheckpointTest, RejectsAnyFlippedByte) {
  write();
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path_));
  for (std::streamoff at = 0; at < size; at += 7) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x10));
    file.close();
    EXPECT_FALSE(read_error().empty()) << "byte " << at;
    file.open(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.put(static_cast<char>(byte));
  }
  EXPECT_TRUE(read_checkpoint(path_, identity_, access_).ok());
}

TEST_F(CheckpointTest, NamesTheFieldThatDiffers) {
  write();
  const auto differing = [&](auto change) {
    CheckpointIdentity other = identity_;
    change(other);
    const Error error = read_error(other);
    EXPECT_EQ(error.code, ErrorCode::kMismatch);
    return error.message;
  };
  EXPECT_THAT(differing([](auto& other) { other.model = "vgg16"; }),
              HasSubstr("its model is \"resnet20\", this run's is \"vgg16\""));
  EXPECT_THAT(differing([](auto& other) { other.settings = "adam, fp32"; }),
              HasSubstr("its settings is \"sgd, fp32\", this run's is \"adam, fp32\""));
  EXPECT_THAT(differing([](auto& other) { other.batch = 16; }), HasSubstr("its batch is 8, this run's is 16"));
  EXPECT_THAT(differing([](auto& other) { other.seed = 12; }), HasSubstr("its seed is 11"));
  EXPECT_THAT(differing([](auto& other) { other.graph_fingerprint = "beef"; }), HasSubstr("graph_fingerprint"));
  EXPECT_THAT(differing([](auto& other) { other.data = "cifar10"; }), HasSubstr("data"));
}

// A tensor that cannot be read, after the header and another tensor were written.
TEST_F(CheckpointTest, FailedWriteKeepsThePreviousCheckpoint) {
  write(1);
  executor_.unreadable = 3;
  const Status status = write_to(path_, 2);
  executor_.unreadable.reset();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_EQ(*read_checkpoint(path_, identity_, access_), 1);
  const std::string name = path_.filename();
  for (const auto& entry : std::filesystem::directory_iterator(path_.parent_path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(name + ".")) << entry.path() << " was left";
  }
}

TEST_F(CheckpointTest, FullDiskIsOutOfSpace) {
  const Status status = write_to("/dev/full", 2);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfSpace);
}

// Other ranks read along: the first one reads all tensors although its file has failed.
TEST_F(CheckpointTest, ARankReadsOnAfterItsFileHasFailed) {
  executor_.reads = 0;
  testing::ThreadRanks(1).run([&](kernels::Ranks& rank) {
    ParameterAccess access(compiled_, executor_, &rank);
    Status written;
    EXPECT_TRUE(write_checkpoint("/dev/full", identity_, 2, access, written).ok());
    EXPECT_EQ(written.error().code, ErrorCode::kOutOfSpace);
  });
  EXPECT_EQ(executor_.reads, std::ssize(persistent_tensors(compiled_.graph())));
}

TEST_F(CheckpointTest, BytesOfACheckpointAreKnownBeforehand) {
  write();
  const auto bytes = static_cast<double>(std::filesystem::file_size(path_));
  EXPECT_GE(static_cast<double>(bytes_of_checkpoint(access_.graph())), bytes);
  EXPECT_LE(static_cast<double>(bytes_of_checkpoint(access_.graph())), bytes + 256.0 * 1024);
}

TEST_F(CheckpointTest, MissingFileIsNamed) { EXPECT_THAT(read_error(), HasSubstr("No such file")); }

}  // namespace
}  // namespace sluice::train

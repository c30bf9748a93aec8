#include "sluice/profile/profile_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace sluice::profile {
namespace {

graph::Graph graph_of(int ops) {
  graph::Graph graph;
  graph.name = "net" + std::to_string(ops);
  graph::Tensor tensor;
  tensor.shape = {100};
  graph::TensorId last = graph.add_tensor(tensor);
  for (int i = 0; i < ops; ++i) {
    graph::Op op;
    op.name = "op" + std::to_string(i);
    op.kind = graph::OpKind::kRelu;
    op.inputs = {last};
    op.outputs = {last = graph.add_tensor(tensor)};
    graph.add_op(op);
  }
  return graph;
}

class ProfileFileTest : public ::testing::Test {
 protected:
  ProfileFileTest() {
    machine_.cpu = "cpu A, 2 cores";
    machine_.threads = 2;
    profile_.graph_fingerprint = graph_.fingerprint();
    profile_.compute_fingerprint = machine_.compute_fingerprint();
    profile_.op_seconds = {1.5, 2.5, 3.5};
    profile_.cold_seconds = {2, 3, 4};
    profile_.distinct_ops = 1;
    const Timing timing{.median = 2, .min = 1, .max = 3, .samples = 3};
    profile_.placements.push_back(std::make_shared<PlacementTimes>(
        PlacementTimes{.tier = "optane(emulated,2,1)",
                       .emulated = true,
                       .distinct = {{{.slow = 0, .timing = timing}, {.slow = 2, .timing = timing}}},
                       .index = {0, -1, 0}}));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  nlohmann::json saved() const { return profile_to_json(graph_, machine_, profile_); }
  Error refusal(const nlohmann::json& document) const {
    const Result<Profile> read = profile_from_json(document, graph_, machine_);
    EXPECT_FALSE(read.ok());
    return read.ok() ? Error{} : read.error();
  }
  Error refusal_of_text(const std::string& text) const {
    std::ofstream(path_) << text;
    const Result<Profile> read = read_profile(path_, graph_, machine_);
    EXPECT_FALSE(read.ok());
    return read.ok() ? Error{} : read.error();
  }

  graph::Graph graph_ = graph_of(3);
  memory::Machine machine_;
  Profile profile_;
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("sluice_profile_file_" + std::to_string(::getpid()) + ".json");
};

TEST_F(ProfileFileTest, KeepsTimesByOtherChoices) {
  EXPECT_FALSE(saved().contains("choices"));
  profile_.choices[{1, 0}] = std::make_shared<OpTimes>(OpTimes{{1, 2, 3}, {4, 5, 6}});
  profile_.choices[{0, 1}] = std::make_shared<OpTimes>(OpTimes{{7, 8, 9}, {}});
  nlohmann::json document = saved();
  const Result<Profile> read = profile_from_json(document, graph_, machine_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->choices.size(), 2u);
  EXPECT_EQ(*read->choices.at({1, 0}), *profile_.choices.at({1, 0}));
  EXPECT_EQ(*read->choices.at({0, 1}), *profile_.choices.at({0, 1}));
  document["choices"][0]["seconds"] = {1, 2};
  EXPECT_NE(refusal(document).message.find("/choices/0/seconds: expected the times of 3 ops"), std::string::npos);
}

TEST_F(ProfileFileTest, ReadsWhatWasSaved) {
  std::ofstream(path_) << saved();
  const Result<Profile> read = read_profile(path_, graph_, machine_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->graph_fingerprint, profile_.graph_fingerprint);
  EXPECT_EQ(read->compute_fingerprint, profile_.compute_fingerprint);
  EXPECT_EQ(read->op_seconds, profile_.op_seconds);
  EXPECT_EQ(read->cold_seconds, profile_.cold_seconds);
  EXPECT_EQ(read->distinct_ops, 1);
  EXPECT_EQ(read->measured_ops, 0);
  ASSERT_EQ(read->placements.size(), 1u);
  EXPECT_EQ(read->placements[0]->tier, "optane(emulated,2,1)");
  EXPECT_TRUE(read->placements[0]->emulated);
  EXPECT_EQ(read->placements[0]->distinct, profile_.placements[0]->distinct);
  EXPECT_EQ(read->placements[0]->index, profile_.placements[0]->index);
}

TEST_F(ProfileFileTest, KeepsWhatEncodingWouldDo) {
  EXPECT_FALSE(saved().contains("encodings")) << "nobody measured";
  EXPECT_EQ(profile_from_json(saved(), graph_, machine_)->encodings, nullptr);
  EncodingFigures figures{.encoded_bytes = std::vector<Bytes>(graph_.tensors().size(), 4096),
                          .zero_value = {3e9, 2e9},
                          .narrow = {4e9, 1e9}};
  figures.encoded_bytes.back() = 0;
  profile_.encodings = std::make_shared<EncodingFigures>(figures);
  const Result<Profile> read = profile_from_json(saved(), graph_, machine_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_NE(read->encodings, nullptr);
  EXPECT_EQ(*read->encodings, figures);

  nlohmann::json document = saved();
  document["encodings"]["encoded_bytes"][0] = -1;
  EXPECT_NE(refusal(document).message.find("/encodings/encoded_bytes: below 0"), std::string::npos);
  document["encodings"]["encoded_bytes"].erase(0);
  EXPECT_NE(refusal(document).message.find("tensors where the graph has"), std::string::npos);
  document = saved();
  document["encodings"]["narrow"]["encode_bytes_per_second"] = -1.0;
  EXPECT_EQ(refusal(document).code, ErrorCode::kBadInput);
}

TEST_F(ProfileFileTest, RefusesAnotherGraph) {
  const Result<Profile> read = profile_from_json(saved(), graph_of(4), machine_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kMismatch);
  EXPECT_NE(read.error().message.find("of net3 with 3 ops; this is net4 with 4 ops"), std::string::npos)
      << read.error().message;
}

TEST_F(ProfileFileTest, RefusesAnotherMachineOrThreadCount) {
  machine_.threads = 1;
  nlohmann::json document = saved();
  machine_.threads = 2;
  document["machine"]["fingerprint"] = "another";
  const Error error = refusal(document);
  EXPECT_EQ(error.code, ErrorCode::kMismatch);
  EXPECT_NE(
      error.message.find("measured on cpu A, 2 cores with 1 compute thread; this is cpu A, 2 cores with 2 compute "
                         "threads"),
      std::string::npos)
      << error.message;
}

TEST_F(ProfileFileTest, RefusesAnotherFormatOrVersion) {
  nlohmann::json document = saved();
  document["version"] = 7;
  EXPECT_NE(refusal(document).message.find("found 7, and this sluice reads 2"), std::string::npos);
  document["format"] = "sluice-plan";
  EXPECT_NE(refusal(document).message.find("not a saved profile"), std::string::npos);
  EXPECT_EQ(refusal(nlohmann::json::array()).code, ErrorCode::kBadInput);
}

TEST_F(ProfileFileTest, RefusesWhatCannotBeAProfile) {
  const auto broken = [&](const std::string& pointer, const nlohmann::json& value, const std::string& message) {
    nlohmann::json document = saved();
    document[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_EQ(refusal(document).code, ErrorCode::kBadInput) << pointer;
    EXPECT_EQ(refusal(document).message, message);
  };
  broken("/ops/1/seconds", -1, "/ops/1/seconds: expected a number from 0, found -1");
  broken("/ops/1/seconds", "long", "/ops/1/seconds: expected a number, found \"long\"");
  broken("/ops/1/cold_seconds", -1, "/ops/1/cold_seconds: expected a number from 0, found -1");
  broken("/ops", nlohmann::json::array(), "/ops: times of 0 ops where the graph has 3");
  broken("/ops/0", nlohmann::json{{"seconds", 1}}, "/ops: cold_seconds of 2 ops of 3");
  broken("/distinct_ops", 1.5, "/distinct_ops: expected a whole number, found 1.5");
  broken("/placements/0/emulated", 1, "/placements/0/emulated: expected true or false, found 1");
  broken("/placements/0/by_op/0", 1, "/placements/0/by_op: times by placement that belong to no op");
  broken("/placements/0/by_op", nlohmann::json::array({0}),
         "/placements/0/by_op: times by placement that belong to no op");
  const std::string not_first =
      "/placements/0/configurations: times by placement without the one that is all in fast "
      "memory";
  broken("/placements/0/configurations/0/0/slow_operands", nlohmann::json::array({1}), not_first);
  broken("/placements/0/configurations/0", nlohmann::json::array(), not_first);
  broken("/placements/0/configurations/0/1/slow_operands/0", 64,
         "/placements/0/configurations/0/1/slow_operands: an operand that no op has");
  broken("/placements/0/configurations/0/1/min_seconds", -1,
         "/placements/0/configurations/0/1/min_seconds: expected a number from 0, found -1");
  broken("/machine", 3, "/machine: expected an object, found 3");
  broken("/graph", nlohmann::json::object(), "/graph/name: missing");
}

TEST_F(ProfileFileTest, NamesTheFileThatWasCutShortOrIsMissing) {
  const std::string whole = saved().dump();
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
    const Error error = refusal_of_text(whole.substr(0, length));
    EXPECT_EQ(error.code, ErrorCode::kBadInput);
    EXPECT_NE(error.message.find(path_.string()), std::string::npos);
    EXPECT_NE(error.message.find("cut short at byte"), std::string::npos) << error.message;
  }
  EXPECT_EQ(refusal_of_text("\x7f"
                            "ELF")
                .code,
            ErrorCode::kBadInput);
  std::filesystem::remove(path_);
  const Result<Profile> missing = read_profile(path_, graph_, machine_);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace sluice::profile

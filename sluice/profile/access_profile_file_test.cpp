#include "sluice/profile/access_profile_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>

namespace sluice::profile {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Fixture {
  Fixture()
      : path(std::filesystem::temp_directory_path() / ("sluice-access-" + std::to_string(::getpid())) / "a.json") {
    for (const char* name : {"x", "y"}) {
      graph::Tensor tensor;
      tensor.name = name;
      tensor.shape = {5000};
      graph.add_tensor(tensor);
    }
    for (const auto& [inputs, outputs] :
         {std::pair<std::vector<graph::TensorId>, std::vector<graph::TensorId>>{{}, {0}}, {{0}, {1}}}) {
      graph::Op op;
      op.name = "op" + std::to_string(graph.op_count());
      op.inputs = inputs;
      op.outputs = outputs;
      graph.add_op(op);
    }
    machine.cpu = "a processor";
    profile.graph_fingerprint = graph.fingerprint();
    profile.compute_fingerprint = machine.compute_fingerprint();
    profile.method = "page protection";
    profile.tlb_reach = 6 * kMiB;
    profile.largest_chunk = 8 * kPageBytes;
    profile.ops = {{{0, 0, 5}}, {{0, 10, 0}, {1, 0, 5}}};
    profile.normal_step = 0.25;
    profile.profiled_step = 0.75;
    profile.notes = {"a debugger was there"};
  }
  ~Fixture() { std::filesystem::remove_all(path.parent_path()); }

  Result<AccessProfile> read_changed(const std::function<void(json&)>& change) const {
    json document = access_profile_to_json(profile);
    change(document);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << document;
    return read_access_profile(path, graph, machine);
  }

  std::filesystem::path path;
  graph::Graph graph;
  memory::Machine machine;
  AccessProfile profile;
};

TEST(AccessProfileFile, ReadsWhatWasWritten) {
  const Fixture fixture;
  ASSERT_TRUE(write_access_profile(fixture.path, fixture.profile).ok());
  const auto read = read_access_profile(fixture.path, fixture.graph, fixture.machine);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->ops, fixture.profile.ops);
  EXPECT_EQ(read->graph_fingerprint, fixture.profile.graph_fingerprint);
  EXPECT_EQ(read->compute_fingerprint, fixture.profile.compute_fingerprint);
  EXPECT_EQ(read->method, "page protection");
  EXPECT_EQ(read->tlb_reach, 6 * kMiB);
  EXPECT_EQ(read->largest_chunk, 8 * kPageBytes);
  EXPECT_EQ(read->normal_step, 0.25);
  EXPECT_EQ(read->profiled_step, 0.75);
  EXPECT_EQ(read->notes, fixture.profile.notes);
}

TEST(AccessProfileFile, RefusesAnotherMachineOrModelSayingWhich) {
  const Fixture fixture;
  const auto machine = fixture.read_changed([](json& file) { file["compute_fingerprint"] = "other"; });
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(machine.error().message, HasSubstr("another machine"));
  const auto model = fixture.read_changed([](json& file) { file["graph_fingerprint"] = "other"; });
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(model.error().message, HasSubstr("another model"));
}

TEST(AccessProfileFile, RefusesDamage) {
  const Fixture fixture;
  struct Damage {
    std::function<void(json&)> make;
    std::string message;
  };
  const std::vector<Damage> damages = {
      {[](json& file) { file = "text"; }, "holds no access counts"},
      {[](json& file) { file["version"] = 99; }, "/version: found 99, and this sluice reads 1"},
      {[](json& file) { file.erase("ops"); }, "/ops: missing"},
      {[](json& file) { file["ops"].erase(0); }, "/ops: "},
      {[](json& file) {
         file["ops"][0][0] = {1, 0, 5};
       },
       "/ops/0/0: a count of a tensor that its op does not use"},
      {[](json& file) {
         file["ops"][0][0] = {0, -1, 5};
       },
       "/ops/0/0: a count below 0"},
      {[](json& file) {
         file["ops"][0][0] = {0, 1};
       },
       "/ops/0/0: expected [tensor, reads, writes]"},
      {[](json& file) { file["ops"][0][0][1] = "many"; }, "/ops/0/0/1: expected a whole number"},
      {[](json& file) { file["normal_step"] = -1; }, "/normal_step: expected a number from 0"},
      {[](json& file) { file["tlb_reach"] = 0; }, "/tlb_reach: a size below a page"},
      {[](json& file) { file["notes"] = {1}; }, "/notes/0: expected text"},
  };
  for (const Damage& damage : damages) {
    const auto read = fixture.read_changed(damage.make);
    ASSERT_FALSE(read.ok()) << damage.message;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(read.error().message, HasSubstr(damage.message));
  }
  EXPECT_TRUE(fixture.read_changed([](json&) {}).ok());
}

// As `sluice profile --save` and `--json` keep them, beside the times of ops.
TEST(AccessProfileFile, FindsTheCountsInAProfile) {
  const Fixture fixture;
  const auto saved = fixture.read_changed([](json& file) {
    file = {{"format", "sluice-profile"}, {"accesses", file}};
  });
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_EQ(saved->ops, fixture.profile.ops);
  const auto result = fixture.read_changed([](json& file) { file = {{"accesses", {{"profile", file}}}}; });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->ops, fixture.profile.ops);
  for (const json& without : {json{{"format", "sluice-profile"}}, json::array(), json()}) {
    const auto none = fixture.read_changed([&](json& file) { file = without; });
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(none.error().message, HasSubstr("holds no access counts, by which planners such as sentinel"));
  }
}

TEST(AccessProfileFile, SaysWhatCannotBeReadOrWritten) {
  const Fixture fixture;
  EXPECT_EQ(read_access_profile("/nonexistent/a.json", fixture.graph, fixture.machine).error().code, ErrorCode::kIo);
  EXPECT_EQ(write_access_profile("/proc/a.json", fixture.profile).error().code, ErrorCode::kIo);
}

TEST(AccessesByTensor, AddUpOverOps) {
  const Fixture fixture;
  const auto sums = accesses_by_tensor(fixture.graph, fixture.profile);
  EXPECT_EQ(sums[0].reads, 10);
  EXPECT_EQ(sums[0].writes, 5);
  EXPECT_DOUBLE_EQ(sums[0].per_page, 3);  // 20,000 bytes are 5 pages
  EXPECT_DOUBLE_EQ(sums[1].per_page, 1);
}

}  // namespace
}  // namespace sluice::profile

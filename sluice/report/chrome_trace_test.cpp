#include "sluice/report/chrome_trace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "sluice/report/run_record.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

// Two ops; tensor `a` leaves the fast tier after op 0.
class ChromeTraceTest : public ::testing::Test {
 protected:
  ChromeTraceTest() {
    graph_.name = "tiny";
    graph_.layers = {"only"};
    graph::Tensor a;
    a.name = "a";
    a.shape = {1024};
    const graph::TensorId id = graph_.add_tensor(a);
    for (const char* name : {"first", "second"}) {
      graph::Op op;
      op.name = name;
      op.outputs = {id};
      graph_.add_op(op);
    }
    memory::Tier fast;
    fast.name = "dram";
    memory::Tier slow;
    slow.name = "file";
    slow.kind = memory::TierKind::kFile;
    machine_.tiers = {fast, slow};
    memory::Link link;
    link.to = 1;
    machine_.links = {link};
    plan_.planner = "test";
    plan_.residencies = {{id, 0, 0, {0, 2}}, {id, 1, 0, {1, 2}}};
    program_.transfers.resize(1);
    program_.transfers[0].to = {1, 0};
    program_.transfers[0].bytes = 4096;
    step_.step = 7;
    step_.trace.ops = {{0, 0.001}, {0.003, 0.004}};
    step_.trace.stalls = {0, 0.002};
    step_.trace.transfers = {{0.001, 0.003}};
    step_.trace.step_seconds = 0.004;
  }

  json events(std::size_t steps = 1) {
    const std::vector<TracedStep> traced(steps, step_);
    return chrome_trace(plan::PlanGraph(graph_, plan_), machine_, plan_, program_, traced)["traceEvents"];
  }
  static std::vector<json> named(const json& all, const std::string& name) {
    std::vector<json> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const json& e) { return e["name"] == name; });
    return found;
  }

  graph::Graph graph_;
  memory::Machine machine_;
  plan::Plan plan_;
  program::Program program_;
  TracedStep step_;
};

TEST_F(ChromeTraceTest, OpsStallsAndTransfersHaveTheirTimesAndLanes) {
  const json all = events();
  const json op = named(all, "second").at(0);
  EXPECT_EQ(op["ts"], 3000);
  EXPECT_EQ(op["dur"], 1000);
  EXPECT_EQ(op["tid"], 0);
  EXPECT_EQ(op["args"]["layer"], "only");
  const json stall = named(all, "stall").at(0);
  EXPECT_EQ(stall["ts"], 1000);
  EXPECT_EQ(stall["dur"], 2000);
  const json transfer = named(all, "evict a  4.0 KiB").at(0);
  EXPECT_EQ(transfer["tid"], 1);
  EXPECT_EQ(transfer["ts"], 1000);
}

TEST_F(ChromeTraceTest, CountersFollowResidencies) {
  const json all = events();
  const auto slow = named(all, "file MiB");
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0]["ts"], 1000) << "room is reserved when op 0 is done";
  EXPECT_EQ(slow[0]["args"]["held"], 1.0 / 256);
  EXPECT_EQ(named(all, "dram MiB").at(0)["ts"], 0);
}

TEST_F(ChromeTraceTest, StepsFollowEachOther) {
  const auto ops = named(events(2), "first");
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[1]["ts"], 4000);
}

TEST_F(ChromeTraceTest, SaysWhatIsEmulated) {
  const std::vector<TracedStep> steps{step_};
  EXPECT_FALSE(chrome_trace(plan::PlanGraph(graph_, plan_), machine_, plan_, program_, steps)["otherData"]["emulated"]
                   .get<bool>());
  machine_.links[0].throttled = true;
  const json trace = chrome_trace(plan::PlanGraph(graph_, plan_), machine_, plan_, program_, steps);
  EXPECT_TRUE(trace["otherData"]["emulated"].get<bool>());
  EXPECT_EQ(trace["traceEvents"][1]["args"]["name"], "dram -> file (emulated)");
  EXPECT_TRUE(run_record(machine_)["emulated"].get<bool>());
}

TEST_F(ChromeTraceTest, FileIsWrittenWholeOrNotAtAll) {
  const std::string path = ::testing::TempDir() + "/trace." + std::to_string(::getpid()) + ".json";
  ASSERT_TRUE(write_json_file(path, events()).ok());
  EXPECT_EQ(json::parse(std::ifstream(path)), events());
  const Status status = write_json_file(::testing::TempDir() + "/missing/trace.json", events());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("missing/trace.json: No such file"), std::string::npos);
}

}  // namespace
}  // namespace sluice::report

#include "sluice/report/explanation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_schedule.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::report {
namespace {

using ::testing::HasSubstr;

std::string text_of(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan,
                    std::string_view name) {
  const auto found = explain(graph, machine, plan, name);
  if (!found.ok()) return found.error().message;
  std::string text;
  for (const Explanation& each : *found) text += explanation_text(each);
  return text;
}

TEST(Explanation, TellsTheLifeOfATensor) {
  const testing::TinyStep tiny = testing::tiny_step();
  EXPECT_EQ(text_of(tiny.graph, tiny.machine, tiny.plan, "x"),
            "x, activation of 7.8 KiB\n"
            "  slot 0    make makes it in dram\n"
            "            behind the op it starts to leave for file; there before slot 2\n"
            "  slot 1    behind the op it starts to come to dram; there before slot 3\n"
            "  slot 3    use reads it in dram\n"
            "  slot 4    update reads it in dram, for the last time\n");
}

TEST(Explanation, TellsWhatThePlannerRecorded) {
  testing::TinyStep tiny = testing::tiny_step();
  tiny.plan.migrations[0].cause = plan::Cause::kRoomForOthers;
  EXPECT_THAT(text_of(tiny.graph, tiny.machine, tiny.plan, "x"),
              HasSubstr("there before slot 2 (others in its room save more copying until it is needed again)\n"));
}

TEST(Explanation, TellsHowACopyIsEncoded) {
  testing::TinyStep tiny = testing::tiny_step();
  tiny.plan.residencies[testing::TinyStep::kXFile].encoding = memory::Encoding::kZeroValue;
  const std::string text = text_of(tiny.graph, tiny.machine, tiny.plan, "x");
  EXPECT_THAT(text, HasSubstr("starts to leave for file, encoded as zero-value; there before slot 2"));
  EXPECT_THAT(text, HasSubstr("starts to come to dram, decoded from zero-value; there before slot 3"));
}

TEST(Explanation, TellsWhereAPersistentTensorBeginsAndEnds) {
  const testing::TinyStep tiny = testing::tiny_step();
  const std::string text = text_of(tiny.graph, tiny.machine, tiny.plan, "w");
  EXPECT_THAT(text, HasSubstr("  start     it is in dram\n"));
  EXPECT_THAT(text, HasSubstr("  slot 4    update updates it in dram\n"));
  EXPECT_THAT(text, HasSubstr("  end       it is where it began\n"));
}

TEST(Explanation, TellsWhatAnOpNeeds) {
  const testing::TinyStep tiny = testing::tiny_step();
  const std::string text = text_of(tiny.graph, tiny.machine, tiny.plan, "use");
  EXPECT_THAT(text, HasSubstr("number 3 of 5 in the graph's order"));
  EXPECT_THAT(text, HasSubstr("reads x, 7.8 KiB, in dram; make wrote it in slot 0"));
}

TEST(Explanation, NamesWhatContainsAnUnknownName) {
  const testing::TinyStep tiny = testing::tiny_step();
  EXPECT_THAT(text_of(tiny.graph, tiny.machine, tiny.plan, "los"),
              HasSubstr("'los' is neither an op nor a tensor of tiny; names that contain it: loss"));
  EXPECT_THAT(text_of(tiny.graph, tiny.machine, tiny.plan, "nothing"), HasSubstr("the plan file names them"));
}

// Whatever is made again is told once for each time, and events are in order.
TEST(Explanation, TellsEveryRepetitionInOrder) {
  std::size_t again = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const memory::Machine machine = testing::random_machine(seed);
    const std::vector<graph::OpIndex> schedule = testing::random_schedule(graph, seed);
    const graph::Rescheduled step = graph::reschedule(graph, schedule).value();
    plan::Plan plan = testing::random_plan(seed, step.graph, machine);
    plan.schedule = schedule;
    std::map<std::string, int> bearers;
    for (const graph::Tensor& tensor : graph.tensors()) ++bearers[tensor.name];
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      if (bearers[graph.tensor(id).name] > 1) continue;
      const auto found = explain(graph, machine, plan, graph.tensor(id).name);
      ASSERT_TRUE(found.ok());
      std::size_t told = 0;
      for (const LifeEvent& event : found->back().events) told += event.kind == "makes again" ? 1 : 0;
      const auto copies = as_index(std::ranges::count(step.tensor_of, id)) - 1;
      ASSERT_EQ(told, copies) << graph.tensor(id).name;
      again += told;
      ASSERT_TRUE(std::ranges::is_sorted(found->back().events, {}, &LifeEvent::slot));
    }
  }
  EXPECT_GT(again, 100U);
}

TEST(Explanation, TellsWhatIsLeftOutAndWhatStandsForIt) {
  graph::Graph graph;
  const graph::TensorId x = graph.add_tensor({.name = "x", .shape = {4}, .role = graph::Role::kParameter});
  for (const char* name : {"y", "y.again"}) {
    const graph::TensorId made = graph.add_tensor({.name = name, .shape = {4}, .role = graph::Role::kActivation});
    graph.add_op({.name = std::string("make ") + name, .kind = graph::OpKind::kRelu, .inputs = {x}, .outputs = {made}});
  }
  const memory::Machine machine = testing::tiny_step().machine;
  plan::Plan plan;
  plan.schedule = {0};
  plan.ops.push_back({.operand_tiers = {memory::kFastTier, memory::kFastTier}});
  const std::string expected = "  start     it is not made again: y is kept and read instead\n";
  EXPECT_EQ(text_of(graph, machine, plan, "make y.again"),
            "make y.again, an op of kind relu: number 1 of 2 in the graph's order\n" + expected);
  EXPECT_EQ(text_of(graph, machine, plan, "y.again"), "y.again, activation of 16 B\n" + expected);
}

TEST(Explanation, IsTheSameAsJson) {
  const testing::TinyStep tiny = testing::tiny_step();
  const auto found = explain(tiny.graph, tiny.machine, tiny.plan, "x");
  ASSERT_TRUE(found.ok());
  const nlohmann::json document = explanation_json(found->front());
  EXPECT_EQ(document["events"].size(), found->front().events.size());
  EXPECT_EQ(document["events"][1]["kind"], "leaves");
  EXPECT_EQ(document["events"][1]["slot"], 0);
}

}  // namespace
}  // namespace sluice::report

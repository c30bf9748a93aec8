// Counts of ops whose touches are known: a graph of three tensors that share an arena, and ops that are plain loops.
#include "sluice/measure/access_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sluice/base/as_index.hpp"
#include "sluice/measure/sampling_recorder.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::measure {
namespace {

constexpr Bytes kPage = profile::kPageBytes;
constexpr Bytes kRecorderReach = 64 * kPage;
using Touch = std::pair<graph::TensorId, bool>;  // tensor, write

// Tensor 2 lies where tensor 0 was, which is dead by then.
struct RecordedStep {
  RecordedStep() {
    for (const Bytes pages : {20, 40, 20}) {
      graph::Tensor tensor;
      tensor.name = "t" + std::to_string(graph.tensor_count());
      tensor.shape = {pages * kPage / 4};
      graph.add_tensor(tensor);
    }
    graph.tensor(1).bytes = 40 * kPage - 400;
    add_op(graph::OpKind::kInput, {}, {0});
    add_op(graph::OpKind::kRelu, {0}, {1});
    add_op(graph::OpKind::kAdd, {1, 1}, {2});
    arena = memory::Arena::map(60 * kPage, "test").value();
    program.compute = {{0, {at(0)}, {}}, {1, {at(0), at(1)}, {}}, {2, {at(1), at(1), at(2)}, {}}};
  }

  void add_op(graph::OpKind kind, std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs) {
    graph::Op op;
    op.name = "op" + std::to_string(graph.op_count());
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    graph.add_op(op);
  }

  static program::Location at(graph::TensorId tensor) { return {0, tensor == 1 ? 20 * kPage : 0}; }
  std::byte* data(graph::TensorId tensor) const { return arena.data() + at(tensor).offset; }

  void run(exec::OpObserver& observer, graph::OpIndex op, const std::vector<Touch>& touches) const {
    std::vector<void*> operands;
    for (const program::Location& place : program.compute[as_index(op)].operands) {
      operands.push_back(arena.data() + place.offset);
    }
    ASSERT_TRUE(observer.before_op(op, operands).ok());
    for (const auto& [tensor, write] : touches) {
      for (Bytes offset = 0; offset < graph.tensor(tensor).bytes; offset += kPage / 4) {
        volatile std::byte* const byte = data(tensor) + offset;
        if (write) {
          *byte = std::byte{1};
        } else {
          (void)*byte;
        }
      }
    }
    observer.after_op(op);
  }

  graph::Graph graph;
  program::Program program;
  memory::Arena arena;
};

profile::TensorTouches touches(graph::TensorId tensor, std::int64_t reads, std::int64_t writes) {
  return {tensor, reads, writes};
}

TEST(AccessRecorder, CountsEveryOperandOfEveryOp) {
  const RecordedStep fixture;
  auto recorder = AccessRecorder::create(fixture.graph, fixture.program, kRecorderReach, kPage, 1);
  ASSERT_TRUE(recorder.ok()) << recorder.error().message;
  AccessRecorder& counted = **recorder;
  fixture.run(counted, 0, {});
  fixture.run(counted, 1, {{0, false}, {1, true}});
  fixture.run(counted, 2, {{1, false}, {2, true}, {1, false}});
  using ::testing::ElementsAre;
  // The input's pages are in the TLB when op 1 reads them. Op 1 brought in 40 pages (20 + 40 fit the 64); op 2 writes
  // a new tensor's 20, for which the 16 oldest leave, those of tensor 0; tensor 1 stays.
  EXPECT_THAT(counted.counts(),
              ElementsAre(ElementsAre(touches(0, 0, 20)), ElementsAre(touches(0, 0, 0), touches(1, 0, 40)),
                          ElementsAre(touches(1, 0, 0), touches(2, 0, 20))));
  EXPECT_TRUE(counted.complete());
}

TEST(AccessRecorder, CountsWhatTheTlbCouldNotKeep) {
  const RecordedStep fixture;
  auto recorder = AccessRecorder::create(fixture.graph, fixture.program, 16 * kPage, kPage, 1);
  ASSERT_TRUE(recorder.ok()) << recorder.error().message;
  fixture.run(**recorder, 1, {{0, false}, {1, true}});
  fixture.run(**recorder, 2, {{1, false}, {1, false}, {2, true}});
  const auto& counts = (*recorder)->counts();
  EXPECT_EQ(counts[1][0], touches(0, 20, 0));
  EXPECT_EQ(counts[2][0].reads, 80) << "each sweep misses every page";
  EXPECT_EQ(counts[2][1], touches(2, 0, 20));
}

TEST(AccessRecorder, LeavesMemoryOpenBetweenOps) {
  const RecordedStep fixture;
  auto recorder = AccessRecorder::create(fixture.graph, fixture.program, kRecorderReach, kPage, 1);
  ASSERT_TRUE(recorder.ok());
  fixture.run(**recorder, 1, {});
  for (Bytes offset = 0; offset < 60 * kPage; ++offset) fixture.arena.data()[offset] = std::byte{7};
  fixture.run(**recorder, 2, {});
  EXPECT_EQ((*recorder)->counts()[2][0], touches(1, 0, 0)) << "what happens between ops is not counted";
}

TEST(AccessRecorder, APageThatOperandsShareCountsForEach) {
  RecordedStep fixture;
  for (graph::Tensor* tensor : {&fixture.graph.tensor(0), &fixture.graph.tensor(1)}) {
    tensor->shape = {256};
    tensor->bytes = 1024;
  }
  fixture.program.compute[1].operands = {{0, 64}, {0, 2048}};
  auto recorder = AccessRecorder::create(fixture.graph, fixture.program, kRecorderReach, kPage, 1);
  ASSERT_TRUE(recorder.ok());
  const std::vector<void*> operands = {fixture.arena.data() + 64, fixture.arena.data() + 2048};
  ASSERT_TRUE((*recorder)->before_op(1, operands).ok());
  fixture.arena.data()[2048] = fixture.arena.data()[64];
  (*recorder)->after_op(1);
  EXPECT_THAT((*recorder)->counts()[1], ::testing::ElementsAre(touches(0, 1, 0), touches(1, 0, 1)));
}

class GivenSamples : public memory::SampleSource {
 public:
  explicit GivenSamples(std::vector<memory::MemorySample> samples) : samples_(std::move(samples)) {}
  void start() override { ++starts; }
  void stop() override { ++stops; }
  std::vector<memory::MemorySample> drain() override { return std::exchange(samples_, {}); }
  std::vector<std::string> notes() const override { return {"given"}; }
  int starts = 0, stops = 0;

 private:
  std::vector<memory::MemorySample> samples_;
};

TEST(SamplingRecorder, GivesSamplesToTheOperandsThatHoldThem) {
  const RecordedStep fixture;
  const auto address = [&](graph::TensorId tensor, Bytes offset) {
    return reinterpret_cast<std::uintptr_t>(fixture.data(tensor) + offset);
  };
  auto source = std::make_unique<GivenSamples>(std::vector<memory::MemorySample>{
      {address(0, 0), false, 100},
      {address(0, 20 * kPage - 1), false, 100},
      {address(1, 8), true, 50},
      {address(1, 40 * kPage - 400), true, 50},  // behind its last byte
      {1, true, 1000},
  });
  SamplingRecorder recorder(fixture.graph, std::move(source));
  fixture.run(recorder, 1, {});
  EXPECT_THAT(recorder.counts()[1], ::testing::ElementsAre(touches(0, 200, 0), touches(1, 0, 50)));
  EXPECT_THAT(recorder.notes(), ::testing::ElementsAre("given"));
}

}  // namespace
}  // namespace sluice::measure

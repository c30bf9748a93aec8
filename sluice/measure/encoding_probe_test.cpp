#include "sluice/measure/encoding_probe.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::measure {
namespace {

constexpr Bytes kSeenBytes =
    memory::kEncodedChunkBytes + 2 * memory::kBlockAlignment + 400;  // more than a chunk, no whole page

graph::Tensor seen_tensor(graph::Role role, graph::DType dtype = graph::DType::kF32) {
  graph::Tensor tensor;
  tensor.bytes = kSeenBytes;
  tensor.role = role;
  tensor.dtype = dtype;
  return tensor;
}

// One op that writes an activation, integers and a parameter.
class EncodingRecorderTest : public ::testing::Test {
 protected:
  EncodingRecorderTest() : data_(3, std::vector<std::byte>(as_index(kSeenBytes), std::byte{1})) {
    graph::Op op;
    for (const graph::Tensor& tensor :
         {seen_tensor(graph::Role::kActivation), seen_tensor(graph::Role::kActivation, graph::DType::kI32),
          seen_tensor(graph::Role::kParameter)}) {
      op.outputs.push_back(graph_.add_tensor(tensor));
    }
    graph_.add_op(op);
  }
  void run(EncodingRecorder& recorder) {
    const std::vector<void*> operands{data_[0].data(), data_[1].data(), data_[2].data()};
    EXPECT_TRUE(recorder.before_op(0, operands).ok());
    recorder.after_op(0);
  }
  void zero(Bytes begin, Bytes end) {
    for (auto& tensor : data_) std::memset(tensor.data() + begin, 0, as_index(end - begin));
  }

  graph::Graph graph_;
  std::vector<std::vector<std::byte>> data_;
};

TEST_F(EncodingRecorderTest, SaysWhatATransferWouldMove) {
  zero(0, memory::kEncodedChunkBytes / 2);
  EncodingRecorder recorder(graph_);
  run(recorder);
  // Half of the first chunk and its mask of 8 KiB; the rest as it is, and the page that the tensor ends on.
  const Bytes floats = memory::kEncodedChunkBytes / 2 + 2 * memory::kBlockAlignment + 3 * memory::kBlockAlignment;
  EXPECT_EQ(recorder.encoded_bytes(), (std::vector<Bytes>{floats, align_up(kSeenBytes, memory::kBlockAlignment), 0}))
      << "integers take all their bits, and parameters are passed over";
}

TEST_F(EncodingRecorderTest, OfSeveralTimesTheLargestCounts) {
  EncodingRecorder recorder(graph_);
  run(recorder);
  const Bytes dense = recorder.encoded_bytes()[0];
  zero(0, kSeenBytes);
  run(recorder);
  EXPECT_EQ(recorder.encoded_bytes()[0], dense);
  EXPECT_EQ(dense, align_up(kSeenBytes, memory::kBlockAlignment)) << "nothing is saved of it";
}

TEST(CoderProbe, FindsASpeedThatAProcessorCanHave) {
  for (const memory::Encoding encoding : {memory::Encoding::kZeroValue, memory::Encoding::kNarrow}) {
    const Result<profile::CoderSpeed> speed = measure_coder(encoding);
    ASSERT_TRUE(speed.ok());
    for (const BytesPerSecond each : {speed->encode, speed->decode}) {
      EXPECT_GT(each, 50e6);
      EXPECT_LT(each, 1e12);
    }
  }
}

}  // namespace
}  // namespace sluice::measure

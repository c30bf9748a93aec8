#include "sluice/measure/encoding_recorder.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "sluice/measure/coder_probe.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {
namespace {

constexpr Bytes kSeenBytes = kEncodedChunkBytes + 2 * kBlockAlignment + 400;  // more than a chunk, no whole page

Tensor seen_tensor(Role role, DType dtype = DType::kF32) {
  Tensor tensor;
  tensor.bytes = kSeenBytes;
  tensor.role = role;
  tensor.dtype = dtype;
  return tensor;
}

// One op that writes an activation, integers and a parameter.
class EncodingRecorderTest : public ::testing::Test {
 protected:
  EncodingRecorderTest() : data_(3, std::vector<std::byte>(static_cast<std::size_t>(kSeenBytes), std::byte{1})) {
    Op op;
    for (const Tensor& tensor :
         {seen_tensor(Role::kActivation), seen_tensor(Role::kActivation, DType::kI32), seen_tensor(Role::kParameter)}) {
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
    for (auto& tensor : data_) std::memset(tensor.data() + begin, 0, static_cast<std::size_t>(end - begin));
  }

  Graph graph_;
  std::vector<std::vector<std::byte>> data_;
};

TEST_F(EncodingRecorderTest, SaysWhatATransferWouldMove) {
  zero(0, kEncodedChunkBytes / 2);
  EncodingRecorder recorder(graph_);
  run(recorder);
  // Half of the first chunk and its mask of 8 KiB; the rest as it is, and the page that the tensor ends on.
  const Bytes floats = kEncodedChunkBytes / 2 + 2 * kBlockAlignment + 3 * kBlockAlignment;
  EXPECT_EQ(recorder.encoded_bytes(), (std::vector<Bytes>{floats, align_up(kSeenBytes, kBlockAlignment), 0}))
      << "integers take all their bits, and parameters are passed over";
}

TEST_F(EncodingRecorderTest, OfSeveralTimesTheLargestCounts) {
  EncodingRecorder recorder(graph_);
  run(recorder);
  const Bytes dense = recorder.encoded_bytes()[0];
  zero(0, kSeenBytes);
  run(recorder);
  EXPECT_EQ(recorder.encoded_bytes()[0], dense);
  EXPECT_EQ(dense, align_up(kSeenBytes, kBlockAlignment)) << "nothing is saved of it";
}

TEST(CoderProbe, FindsASpeedThatAProcessorCanHave) {
  for (const Encoding encoding : {Encoding::kZeroValue, Encoding::kNarrow}) {
    const Result<CoderSpeed> speed = measure_coder(encoding);
    ASSERT_TRUE(speed.ok());
    for (const BytesPerSecond each : {speed->encode, speed->decode}) {
      EXPECT_GT(each, 50e6);
      EXPECT_LT(each, 1e12);
    }
  }
}

}  // namespace
}  // namespace sluice

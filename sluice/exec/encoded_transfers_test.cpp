#include "sluice/exec/encoded_transfers.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"

namespace sluice::exec {
namespace {

constexpr Bytes kTensorBytes = 2 * memory::kEncodedChunkBytes + 4 * kKiB;
constexpr program::TransferIndex kOut = 0, kIn = 1, kRawOut = 2;

class EncodedTransfersTest : public ::testing::Test {
 protected:
  EncodedTransfersTest() {
    graph::Tensor tensor;
    tensor.bytes = kTensorBytes;
    graph_.add_tensor(tensor);
    program_.transfers.resize(3);
    for (const program::TransferIndex i : {kOut, kIn, kRawOut}) program_.transfers[as_index(i)].bytes = kTensorBytes;
    for (const program::TransferIndex i : {kOut, kIn}) program_.transfers[as_index(i)].encoded = 4;
    program_.lanes = {{kOut, kRawOut}, {kIn}};
  }

  graph::Graph graph_;
  program::Program program_;
};

TEST_F(EncodedTransfersTest, BothWaysOfAResidencyShareItsChunks) {
  EncodedTransfers transfers(graph_, program_);
  const memory::EncodedTransfer out = transfers.find(kOut), in = transfers.find(kIn);
  EXPECT_EQ(out.encoding, memory::Encoding::kZeroValue);
  EXPECT_EQ(out.element_bytes, 4);
  EXPECT_EQ(out.chunks, in.chunks);
  EXPECT_EQ(out.chunks->size(), 3U);
  EXPECT_EQ(transfers.find(kRawOut).encoding, memory::Encoding::kNone);
}

TEST_F(EncodedTransfersTest, CountsWhatMovedByTransfer) {
  EncodedTransfers transfers(graph_, program_);
  *transfers.find(kIn).moved = 8 * kKiB;
  EXPECT_EQ(transfers.moved(), (std::vector<Bytes>{kTensorBytes, 8 * kKiB, kTensorBytes}));
}

TEST_F(EncodedTransfersTest, OnlyLanesWithEncodedTransfersNeedAnEngine) {
  EXPECT_TRUE(carries_encoded(program_, 0));
  EXPECT_TRUE(carries_encoded(program_, 1));
  program_.lanes = {{kRawOut}, {kIn}};
  EXPECT_FALSE(carries_encoded(program_, 0));
}

}  // namespace
}  // namespace sluice::exec

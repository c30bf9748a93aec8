// Encoded transfers there and back through engines of several kinds: the same bytes, fewer of them moved.
#include "sluice/memory/transfer/encoding_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/transfer/copy_engine.hpp"
#include "sluice/memory/transfer/shared_copy_engine.hpp"
#include "sluice/memory/transfer/throttled_engine.hpp"
#include "sluice/memory/transfer/transfer_error.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kEncodedBytes = 5 * kEncodedChunkBytes + 3 * kBlockAlignment;
constexpr Bytes kFastBytes = 3 * kEncodedBytes;  // what moves, where it comes back to, and what moves as it is
constexpr TransferId kOut = 0, kIn = 1, kRawOut = 2;

// Six chunks: the first has few zeros, so that it moves as it is, the others half of them.
class EncodingEngineTest : public ::testing::Test {
 protected:
  EncodingEngineTest() {
    testing::SeededRandom random(1);
    for (Bytes at = 0; at < kEncodedBytes; at += 4) {
      const bool zero = at >= kEncodedChunkBytes && random.chance(0.5);
      const std::uint32_t word = zero ? 0 : random.between<std::uint32_t>(1, 0xffffffffU);
      std::memcpy(fast_.data() + at, &word, sizeof word);
    }
  }

  EncodedTransfer find(TransferId transfer) {
    if (transfer == kRawOut) return {};
    return {Encoding::kZeroValue, 4, &chunks_, &moved_.at(as_index(transfer))};
  }
  std::unique_ptr<EncodingEngine> encoder(std::unique_ptr<TransferEngine> inner, Bytes staging_chunks = 2) {
    return std::make_unique<EncodingEngine>(
        std::move(inner),
        EncodingEngine::Config{.encodes = true,
                               .arena = fast_.data(),
                               .staging = {kFastBytes, kFastBytes + staging_chunks * kEncodedChunkBytes},
                               .find = [this](TransferId transfer) { return find(transfer); }});
  }
  std::unique_ptr<EncodingEngine> decoder(std::unique_ptr<TransferEngine> inner) {
    return std::make_unique<EncodingEngine>(
        std::move(inner), EncodingEngine::Config{.encodes = false,
                                                 .arena = fast_.data(),
                                                 .staging = {},
                                                 .find = [this](TransferId transfer) { return find(transfer); }});
  }
  std::unique_ptr<TransferEngine> outward() {
    return std::make_unique<SharedCopyEngine>(fast_.data(), slow_.data(), cached_copy, false);
  }
  std::unique_ptr<TransferEngine> inward() {
    return std::make_unique<SharedCopyEngine>(slow_.data(), fast_.data(), cached_copy, false);
  }

  static std::vector<FinishedTransfer> finish(TransferEngine& engine) {
    std::vector<FinishedTransfer> finished;
    while (engine.in_flight() > 0) engine.wait(std::nullopt, finished);
    return finished;
  }
  // What the data say, without the code under test: words that are not zero and a bit for each, in whole pages.
  Bytes expected_bytes() const {
    Bytes sum = 0;
    for (Bytes begin = 0; begin < kEncodedBytes; begin += kEncodedChunkBytes) {
      const Bytes bytes = std::min(kEncodedChunkBytes, kEncodedBytes - begin);
      Bytes kept = 0;
      for (Bytes at = begin; at < begin + bytes; at += 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, fast_.data() + at, sizeof word);
        kept += word != 0 ? 4 : 0;
      }
      sum += std::min(bytes, align_up(kept + bytes / 32, kBlockAlignment));
    }
    return sum;
  }
  bool came_back() const {
    return std::memcmp(fast_.data(), fast_.data() + kEncodedBytes, as_index(kEncodedBytes)) == 0;
  }

  Arena fast_ = Arena::map(kFastBytes + 8 * kEncodedChunkBytes, "fast").value();
  Arena slow_ = Arena::map(2 * kEncodedBytes, "slow").value();
  std::vector<StoredChunk> chunks_ = std::vector<StoredChunk>(6);
  std::vector<Bytes> moved_ = {-1, -1, -1};
};

TEST_F(EncodingEngineTest, BringsBackTheSameBytesAndMovesFewer) {
  for (const Bytes staging_chunks : {1, 2, 8}) {
    SCOPED_TRACE(staging_chunks);
    std::memset(slow_.data(), 0x77, as_index(2 * kEncodedBytes));
    std::memset(fast_.data() + kEncodedBytes, 0x55, as_index(kEncodedBytes));
    const auto out = encoder(outward(), staging_chunks);
    out->submit(kOut, 0, 0, kEncodedBytes);
    const auto finished = finish(*out);
    ASSERT_EQ(finished.size(), 1U);
    ASSERT_TRUE(finished[0].status.ok());
    const auto in = decoder(inward());
    in->submit(kIn, 0, kEncodedBytes, kEncodedBytes);
    ASSERT_EQ(finish(*in).size(), 1U);
    EXPECT_TRUE(came_back());
    EXPECT_EQ(moved_, (std::vector<Bytes>{expected_bytes(), expected_bytes(), -1}));
    EXPECT_LT(expected_bytes(), kEncodedBytes * 7 / 10);
    // Its room is that of the tensor as it is, and what would have been behind the encoded bytes is not touched.
    EXPECT_EQ(slow_.data()[2 * kEncodedChunkBytes - 1], std::byte{0x77});
  }
}

TEST_F(EncodingEngineTest, WhatIsNotEncodedMovesAsItIsAndInTurn) {
  std::vector<Bytes> order;  // of the bytes moved: where they go
  auto inner = std::make_unique<CopyEngine>([&](Bytes from, Bytes to, Bytes bytes) {
    order.push_back(to);
    std::memcpy(slow_.data() + to, fast_.data() + from, as_index(bytes));
    return Status();
  });
  const auto out = encoder(std::move(inner));
  out->submit(kOut, 0, 0, kEncodedBytes);
  out->submit(kRawOut, 2 * kEncodedBytes, kEncodedBytes, kEncodedBytes);
  const auto finished = finish(*out);
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[0].transfer, kOut);
  EXPECT_EQ(finished[1].transfer, kRawOut);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(std::memcmp(slow_.data() + kEncodedBytes, fast_.data() + 2 * kEncodedBytes, as_index(kEncodedBytes)), 0);
  EXPECT_EQ(moved_[kRawOut], -1) << "known without the engine";
}

TEST_F(EncodingEngineTest, AThrottleSeesTheBytesThatMoveAndOneLatency) {
  constexpr BytesPerSecond kBandwidth = 50e6;
  constexpr Seconds kLatency = 0.01;
  Seconds best = 1e9;
  const Seconds target = kLatency + static_cast<double>(expected_bytes()) / kBandwidth;
  const Seconds as_it_is = kLatency + static_cast<double>(kEncodedBytes) / kBandwidth;
  for (int attempt = 0; attempt < 20 && best > 1.1 * target; ++attempt) {  // a busy machine may oversleep
    const auto out = encoder(std::make_unique<ThrottledEngine>(outward(), kBandwidth, kLatency));
    const auto begin = Clock::now();
    out->submit(kOut, 0, 0, kEncodedBytes);
    finish(*out);
    const Seconds taken = std::chrono::duration<Seconds>(Clock::now() - begin).count();
    ASSERT_GE(taken, target);
    best = std::min(best, taken);
  }
  EXPECT_LE(best, 1.1 * target);
  EXPECT_LT(best, as_it_is);
}

TEST_F(EncodingEngineTest, AFailedChunkEndsItsTransferWithTheReason) {
  int pieces = 0;
  auto inner = std::make_unique<CopyEngine>([&](Bytes, Bytes to, Bytes bytes) -> Status {
    return ++pieces == 2 ? Status(transfer_error("write", "file", to, bytes, 28)) : Status();
  });
  const auto out = encoder(std::move(inner), 1);
  out->submit(kOut, 0, 0, kEncodedBytes);
  out->submit(kRawOut, 2 * kEncodedBytes, kEncodedBytes, kEncodedBytes);
  const auto finished = finish(*out);
  ASSERT_EQ(finished.size(), 2U);
  ASSERT_FALSE(finished[0].status.ok());
  EXPECT_EQ(finished[0].status.error().code, ErrorCode::kOutOfSpace);
  EXPECT_TRUE(finished[1].status.ok());
  EXPECT_LT(pieces, 6 + 6) << "chunks behind the failed one were not worth moving";
}

TEST_F(EncodingEngineTest, CanBeWokenAndKeepsDeadlines) {
  const auto out = encoder(outward());
  std::vector<FinishedTransfer> finished;
  const auto begin = Clock::now();
  out->wait(0.01, finished);
  EXPECT_GE(std::chrono::duration<Seconds>(Clock::now() - begin).count(), 0.01);
  std::jthread waker([&] { out->wake(); });
  out->wait(std::nullopt, finished);
  EXPECT_TRUE(finished.empty());
}

}  // namespace
}  // namespace sluice::memory

#include "sluice/memory/transfer/throttled_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/transfer/copy_engine.hpp"
#include "sluice/memory/transfer/shared_copy_engine.hpp"
#include "sluice/memory/transfer/transfer_error.hpp"

namespace sluice::memory {
namespace {

struct Move {
  Clock::time_point at;
  Bytes bytes = 0;
};

// An inner engine that moves nothing and notes what it was asked to move, and when.
std::unique_ptr<TransferEngine> recording_engine(std::vector<Move>& moves) {
  return std::make_unique<CopyEngine>([&moves](Bytes, Bytes, Bytes bytes) {
    moves.push_back({Clock::now(), bytes});
    return Status();
  });
}

Seconds since(Clock::time_point begin) { return std::chrono::duration<Seconds>(Clock::now() - begin).count(); }

// Seconds until every transfer was reported.
Seconds run(TransferEngine& engine, int transfers, Bytes bytes) {
  std::vector<FinishedTransfer> finished;
  const auto begin = Clock::now();
  for (TransferId i = 0; i < transfers; ++i) engine.submit(i, i * bytes, i * bytes, bytes);
  while (engine.in_flight() > 0) engine.wait(std::nullopt, finished);
  return since(begin);
}

TEST(ThrottledEngine, HitsItsBandwidthWithinHalfAPerCent) {
  const Arena from = Arena::map(64 * kMiB, "dram").value();
  const Arena to = Arena::map(64 * kMiB, "slow").value();
  from.prefault(1);
  to.prefault(1);
  constexpr BytesPerSecond kBandwidth = 0.5e9;
  constexpr Seconds kTarget = static_cast<double>(64 * kMiB) / kBandwidth;
  Seconds best = 1e9;
  for (int attempt = 0; attempt < 20 && best > 1.005 * kTarget; ++attempt) {  // a busy machine may oversleep
    ThrottledEngine engine(std::make_unique<SharedCopyEngine>(from.data(), to.data(), streaming_copy), kBandwidth, 0);
    const Seconds taken = run(engine, 8, 8 * kMiB);
    ASSERT_GE(taken, kTarget);  // never early
    best = std::min(best, taken);
  }
  EXPECT_LE(best, 1.005 * kTarget);
}

TEST(ThrottledEngine, EachTransferPaysTheLatencyOnce) {
  std::vector<Move> moves;
  ThrottledEngine engine(recording_engine(moves), 1e12, 0.004);
  EXPECT_GE(run(engine, 5, kMiB), 0.020);
}

TEST(ThrottledEngine, ReportsInTurnAndNotBeforeTheVirtualEnd) {
  std::vector<Move> moves;
  ThrottledEngine engine(recording_engine(moves), 1e9, 0);
  const auto begin = Clock::now();
  for (TransferId i = 0; i < 4; ++i) engine.submit(i, 0, 0, 10 * kMiB);
  std::vector<FinishedTransfer> finished;
  for (TransferId i = 0; i < 4; ++i) {
    while (finished.size() == as_index(i)) engine.wait(std::nullopt, finished);
    EXPECT_EQ(finished[as_index(i)].transfer, i);
    EXPECT_GE(since(begin), (i + 1) * static_cast<double>(10 * kMiB) / 1e9);
  }
}

TEST(ThrottledEngine, SpreadsTheRealWork) {
  std::vector<Move> moves;
  ThrottledEngine engine(recording_engine(moves), 1e9, 0);
  const auto begin = Clock::now();
  run(engine, 2, 32 * kMiB);
  Bytes before = 0;
  for (const Move& move : moves) {
    // A piece may start when all bytes before it would have crossed the link.
    const Bytes piece_begin = align_down(before, ThrottledEngine::kPieceBytes);
    const Seconds due = static_cast<double>(piece_begin) / 1e9;
    EXPECT_GE(std::chrono::duration<Seconds>(move.at - begin).count(), due * 0.999);
    before += move.bytes;
  }
  EXPECT_EQ(before, 64 * kMiB);
}

TEST(ThrottledEngine, IdleTimeIsNotSavedUp) {
  std::vector<Move> moves;
  ThrottledEngine engine(recording_engine(moves), 1e9, 0);
  run(engine, 1, kMiB);
  std::vector<FinishedTransfer> finished;
  engine.wait(0.05, finished);  // nothing under way
  EXPECT_GE(run(engine, 2, 10 * kMiB), static_cast<double>(20 * kMiB) / 1e9);
}

TEST(ThrottledEngine, ErrorIsReportedOnceAndStopsThatTransferOnly) {
  Bytes moved = 0;
  auto inner = std::make_unique<CopyEngine>([&moved](Bytes from, Bytes, Bytes bytes) -> Status {
    moved += bytes;
    if (from == 8 * kMiB) return transfer_error("read", "file", from, bytes, 5);
    return {};
  });
  ThrottledEngine engine(std::move(inner), 4e9, 0);
  engine.submit(0, 0, 0, 64 * kMiB);
  engine.submit(1, 100 * kMiB, 0, 16 * kMiB);
  std::vector<FinishedTransfer> finished;
  while (engine.in_flight() > 0) engine.wait(std::nullopt, finished);
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[0].transfer, 0);
  ASSERT_FALSE(finished[0].status.ok());
  EXPECT_EQ(finished[0].status.error().code, ErrorCode::kIo);
  EXPECT_TRUE(finished[1].status.ok());
  EXPECT_LT(moved, 80 * kMiB);
}

}  // namespace
}  // namespace sluice::memory

// What every transfer engine promises, asked of each of them: io_uring both ways (registered or not, any request size
// and depth), memory copies, blocking file I/O, and each of them throttled.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/memory/transfer/copy_engine.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"
#include "sluice/memory/transfer/throttled_engine.hpp"
#include "sluice/memory/transfer/uring_engine.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kRoom = 24 * kMiB;

struct Case {
  std::string name;
  TierId from = 0;
  TierId to = 1;
  bool memory = false;  // is tier 1 memory?
  std::function<Result<std::unique_ptr<TransferEngine>>(const Machine&, LinkId, const TierStorages&)> make =
      make_engine;
  Bytes request_bytes = 4 * kMiB;
  int queue_depth = 16;
  bool throttled = false;
};

Machine machine_for(const Case& wanted) {
  Machine machine;
  machine.tiers = {{.name = "dram"}, {.name = "slow"}};
  machine.tiers[1].kind = wanted.memory ? TierKind::kEmulated : TierKind::kFile;
  machine.tiers[1].path = ::testing::TempDir();
  machine.links = {{.from = wanted.from, .to = wanted.to}};
  machine.links[0].request_bytes = wanted.request_bytes;
  machine.links[0].queue_depth = wanted.queue_depth;
  machine.links[0].throttled = wanted.throttled;
  machine.links[0].bandwidth = 2e9;
  machine.links[0].latency = 1e-4;
  return machine;
}

Result<std::unique_ptr<TransferEngine>> make_blocking(const Machine&, LinkId, const TierStorages& storages) {
  auto move = [&storages](Bytes from, Bytes to, Bytes bytes) {
    return storages.read(1, from, {storages.base(0) + to, as_index(bytes)});
  };
  return std::unique_ptr<TransferEngine>(std::make_unique<CopyEngine>(move));
}

std::vector<Case> all_cases() {
  return {{.name = "uring_read", .from = 1, .to = 0},
          {.name = "uring_write"},
          {.name = "uring_read_small_requests", .from = 1, .to = 0, .request_bytes = 8 * kKiB, .queue_depth = 3},
          {.name = "uring_write_one_at_a_time", .request_bytes = 64 * kKiB, .queue_depth = 1},
          {.name = "copy", .memory = true},
          {.name = "copy_back", .from = 1, .to = 0, .memory = true},
          {.name = "blocking_read", .from = 1, .to = 0, .make = make_blocking},
          {.name = "throttled_uring_write", .throttled = true},
          {.name = "throttled_copy", .from = 1, .to = 0, .memory = true, .throttled = true}};
}

std::vector<std::byte> pattern(std::uint64_t seed, Bytes bytes) {
  std::vector<std::byte> content(as_index(bytes));
  for (std::size_t i = 0; i + 8 <= content.size(); i += 8) {
    const std::uint64_t word = random_bits(seed, 0, i);
    std::memcpy(content.data() + i, &word, 8);
  }
  return content;
}

class TransferEngines : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    machine_ = machine_for(GetParam());
    auto opened = TierStorages::open(machine_, std::vector<Bytes>{kRoom, kRoom});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    storages_ = std::make_unique<TierStorages>(std::move(opened).value());
    auto made = GetParam().make(machine_, 0, *storages_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    engine_ = std::move(made).value();
  }

  // Waits until everything submitted is reported, and checks that each is reported once and well.
  void drain(std::size_t expected) {
    std::vector<FinishedTransfer> finished;
    while (engine_->in_flight() > 0) engine_->wait(std::nullopt, finished);
    ASSERT_EQ(finished.size(), expected);
    std::sort(finished.begin(), finished.end(), [](auto& a, auto& b) { return a.transfer < b.transfer; });
    for (std::size_t i = 0; i < expected; ++i) {
      EXPECT_EQ(finished[i].transfer, static_cast<TransferId>(i));
      EXPECT_TRUE(finished[i].status.ok()) << finished[i].status.error().message;
    }
  }

  Machine machine_;
  std::unique_ptr<TierStorages> storages_;
  std::unique_ptr<TransferEngine> engine_;
};

TEST_P(TransferEngines, RandomTransfersArriveWhereTheyShould) {
  const TierId from = GetParam().from;
  const TierId to = GetParam().to;
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  const std::vector<std::byte> source = pattern(kSeed, kRoom);
  std::vector<std::byte> expected = pattern(kSeed + 1, kRoom);
  ASSERT_TRUE(storages_->write(from, 0, source).ok());
  ASSERT_TRUE(storages_->write(to, 0, expected).ok());

  // Destinations go up with gaps, so that they never overlap; sources are anywhere.
  std::size_t count = 0;
  for (Bytes at = 0; at < kRoom; ++count) {
    const std::uint64_t largest = random_bits(kSeed, 1, count) % 5 == 0 ? 1536 : 25;  // in pages
    const Bytes wanted = kBlockAlignment * static_cast<Bytes>(1 + random_bits(kSeed, 2, count) % largest);
    const Bytes bytes = std::min(wanted, kRoom - at);
    const auto places = static_cast<std::uint64_t>((kRoom - bytes) / kBlockAlignment + 1);
    const Bytes source_at = kBlockAlignment * static_cast<Bytes>(random_bits(kSeed, 3, count) % places);
    engine_->submit(static_cast<TransferId>(count), source_at, at, bytes);
    std::copy_n(source.begin() + source_at, bytes, expected.begin() + at);
    at += bytes + kBlockAlignment * static_cast<Bytes>(random_bits(kSeed, 4, count) % 3);
  }
  EXPECT_EQ(engine_->in_flight(), static_cast<int>(count));
  drain(count);

  std::vector<std::byte> arrived(as_index(kRoom));
  ASSERT_TRUE(storages_->read(to, 0, arrived).ok());
  EXPECT_TRUE(arrived == expected);
}

TEST_P(TransferEngines, TransfersSubmittedWhileOthersAreUnderWay) {
  const std::vector<std::byte> source = pattern(11, kRoom);
  ASSERT_TRUE(storages_->write(GetParam().from, 0, source).ok());
  std::vector<FinishedTransfer> finished;
  TransferId submitted = 0;
  for (Bytes at = 0; at < kRoom; at += kMiB) {
    engine_->submit(submitted++, at, at, kMiB);
    if (submitted % 4 == 0) engine_->wait(0.0, finished);
  }
  while (engine_->in_flight() > 0) engine_->wait(1.0, finished);
  EXPECT_EQ(finished.size(), as_index(submitted));
  std::vector<std::byte> arrived(as_index(kRoom));
  ASSERT_TRUE(storages_->read(GetParam().to, 0, arrived).ok());
  EXPECT_TRUE(arrived == source);
}

TEST_P(TransferEngines, IdleWaitEndsAtItsDeadline) {
  std::vector<FinishedTransfer> finished;
  const auto begin = std::chrono::steady_clock::now();
  engine_->wait(0.02, finished);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(finished.empty());
  EXPECT_GE(waited.count(), 0.019);
  EXPECT_LT(waited.count(), 5.0);
}

TEST_P(TransferEngines, WakeEndsAnIdleWaitFromAnotherThread) {
  std::vector<FinishedTransfer> finished;
  for (int i = 0; i < 20; ++i) {
    std::thread waker([&, i] {
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      engine_->wake();
    });
    engine_->wait(std::nullopt, finished);  // hangs if the wake-up is lost
    waker.join();
  }
  EXPECT_TRUE(finished.empty());
}

TEST_P(TransferEngines, WakeBeforeTheWaitIsRemembered) {
  std::vector<FinishedTransfer> finished;
  engine_->wake();
  engine_->wake();
  engine_->wait(std::nullopt, finished);
  // ... and forgotten after it.
  const auto begin = std::chrono::steady_clock::now();
  engine_->wait(0.02, finished);
  EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 0.019);
}

TEST_P(TransferEngines, WakingAllTheTimeStopsNothing) {
  const std::vector<std::byte> source = pattern(13, kRoom);
  ASSERT_TRUE(storages_->write(GetParam().from, 0, source).ok());
  std::jthread waker([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) engine_->wake();
  });
  for (TransferId i = 0; i < 8; ++i) engine_->submit(i, i * 2 * kMiB, i * 2 * kMiB, 2 * kMiB);
  drain(8);
  waker.request_stop();
  waker.join();
  std::vector<std::byte> arrived(as_index(16 * kMiB));
  ASSERT_TRUE(storages_->read(GetParam().to, 0, arrived).ok());
  EXPECT_EQ(std::memcmp(arrived.data(), source.data(), arrived.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, TransferEngines, ::testing::ValuesIn(all_cases()),
                         [](const auto& each) { return each.param.name; });

// A lane each way at once, as a step has them: what is written by one is read back by the other.
TEST(TransferLanes, WriteAndReadLanesRunAtOnce) {
  Machine machine = machine_for({.name = "both"});
  machine.links.push_back({.from = 1, .to = 0});
  auto opened = TierStorages::open(machine, std::vector<Bytes>{kRoom, kRoom});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  TierStorages& storages = *opened;
  constexpr Bytes kHalf = kRoom / 2;
  const std::vector<std::byte> first = pattern(17, kHalf);
  const std::vector<std::byte> second = pattern(19, kHalf);
  ASSERT_TRUE(storages.write(0, 0, first).ok());       // goes out to the file's first half
  ASSERT_TRUE(storages.write(1, kHalf, second).ok());  // comes in to the arena's second half
  // Both engines are there until both lanes are done: the thread sanitizer does not see that a ring is given back, and
  // takes another one at its address for the same.
  const auto outward = make_engine(machine, 0, storages);
  const auto inward = make_engine(machine, 1, storages);
  ASSERT_TRUE(outward.ok() && inward.ok());
  const auto lane = [](TransferEngine& engine, Bytes offset) {
    std::vector<FinishedTransfer> finished;
    for (TransferId i = 0; i < 12; ++i) engine.submit(i, offset + i * kMiB, offset + i * kMiB, kMiB);
    while (engine.in_flight() > 0) engine.wait(std::nullopt, finished);
    for (const FinishedTransfer& each : finished) EXPECT_TRUE(each.status.ok());
  };
  std::thread out([&] { lane(**outward, 0); });
  std::thread in([&] { lane(**inward, kHalf); });
  out.join();
  in.join();
  std::vector<std::byte> arrived(as_index(kHalf));
  ASSERT_TRUE(storages.read(1, 0, arrived).ok());
  EXPECT_TRUE(arrived == first);
  ASSERT_TRUE(storages.read(0, kHalf, arrived).ok());
  EXPECT_TRUE(arrived == second);
}

}  // namespace
}  // namespace sluice::memory

#include "sluice/memory/transfer/transfer_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <numeric>
#include <thread>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"

namespace sluice::memory {
namespace {

// What a test sees of an engine that a queue owns, and tells it.
struct Device {
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
  bool held = false;         // finishes nothing
  std::vector<Bytes> begun;  // Transfer::from, in order
  Bytes under_way = 0;
  Bytes most_under_way = 0;

  void release() {
    const std::lock_guard lock(mutex);
    held = false;
    changed.notify_all();
  }
};

bool fails(Bytes from) { return from % 7 == 3; }

// Moves nothing. Finishes what is under way in an order that a seed draws, and fails what fails().
class DrawnEngine final : public TransferEngine {
 public:
  DrawnEngine(Device& device, std::uint64_t seed) : device_(device), seed_(seed) {}
  ~DrawnEngine() override { EXPECT_TRUE(pending_.empty()) << "an engine ends with nothing under way"; }

  void submit(TransferId transfer, Bytes from_offset, Bytes /*to_offset*/, Bytes bytes) override {
    const std::lock_guard lock(device_.mutex);
    device_.begun.push_back(from_offset);
    device_.under_way += bytes;
    device_.most_under_way = std::max(device_.most_under_way, device_.under_way);
    pending_.push_back({transfer, from_offset, bytes});
  }
  void wait(std::optional<Seconds> /*deadline*/, std::vector<FinishedTransfer>& finished) override {
    std::unique_lock lock(device_.mutex);
    const auto may_finish = [&] { return !device_.held && !pending_.empty(); };
    device_.changed.wait(lock, [&] { return device_.woken || may_finish(); });
    device_.woken = false;
    if (!may_finish()) return;
    const auto drawn =
        pending_.begin() + static_cast<std::ptrdiff_t>(random_bits(seed_, 0, draws_++) % pending_.size());
    device_.under_way -= drawn->bytes;
    finished.push_back({drawn->id, fails(drawn->from) ? Status(Error{ErrorCode::kIo, "broken"}) : Status()});
    pending_.erase(drawn);
  }
  void wake() override {
    const std::lock_guard lock(device_.mutex);
    device_.woken = true;
    device_.changed.notify_all();
  }
  int in_flight() const override { return count_of(pending_); }

 private:
  struct Pending {
    TransferId id = 0;
    Bytes from = 0;
    Bytes bytes = 0;
  };

  Device& device_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::vector<Pending> pending_;
};

// With a thread of its own, or driven by its caller.
class TransferQueueTest : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<TransferQueue> make(Device& device, std::uint64_t seed = 0, Bytes bytes_under_way = kMiB) const {
    TransferQueue::Config config{.bytes_under_way = bytes_under_way};
    if (GetParam()) config.thread = {.name = "test"};
    return std::make_unique<TransferQueue>(std::make_unique<DrawnEngine>(device, seed), config);
  }
};

INSTANTIATE_TEST_SUITE_P(DrivenBy, TransferQueueTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "thread" : "caller"; });

ErrorCode code_of(const Ticket& ticket) { return ticket.status().error().code; }

// A queue, and every transfer that was ever put into it; transfer i is called i.
class DrawnCalls {
 public:
  DrawnCalls(TransferQueue& queue, std::uint64_t seed) : queue_(queue), seed_(seed) {}

  void put() {
    const Bytes number = std::ssize(tickets);
    const Bytes bytes = kBlockAlignment * (1 + draw(4));
    tickets.push_back(queue_.put({number, 0, bytes}, [this, number](const Status& status) {
      EXPECT_EQ(status.ok(), !fails(number));
      reported.push_back(number);
    }));
    cancelled.push_back(false);
  }
  void cancel_one() {
    const std::size_t one = as_index(draw(std::ssize(tickets)));
    const bool now = queue_.cancel(tickets[one]);
    EXPECT_FALSE(now && cancelled[one]) << "a ticket is cancelled once";
    if (now) cancelled[one] = true;
  }
  void wait_for_one() {
    const std::size_t one = as_index(draw(std::ssize(tickets)));
    EXPECT_EQ(queue_.wait(tickets[one]).ok(), !cancelled[one] && !fails(static_cast<Bytes>(one)));
    for (std::size_t earlier = 0; earlier <= one && !cancelled[one]; ++earlier) {
      EXPECT_TRUE(tickets[earlier].done()) << earlier << " comes before " << one;
    }
  }
  Bytes draw(Bytes below) {
    return static_cast<Bytes>(random_bits(seed_, 1, draws_++) % static_cast<std::uint64_t>(below));
  }

  std::vector<Ticket> tickets;
  std::vector<bool> cancelled;
  std::vector<Bytes> reported;  // in this order

 private:
  TransferQueue& queue_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
};

TEST_P(TransferQueueTest, EveryTicketEndsAsItsTransferDidAndInTurn) {
  constexpr Bytes kUnderWay = 5 * kBlockAlignment;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Device device;
    auto queue = make(device, seed, kUnderWay);
    DrawnCalls calls(*queue, seed);
    for (int call = 0; call < 60; ++call) {
      calls.put();
      if (calls.draw(3) == 0) calls.cancel_one();
      if (calls.draw(5) == 0) calls.wait_for_one();
    }
    queue.reset();
    EXPECT_EQ(calls.reported, device.begun) << "each that began, in the order of the queue";
    EXPECT_TRUE(std::ranges::is_sorted(device.begun));
    EXPECT_LT(device.most_under_way, kUnderWay + 4 * kBlockAlignment);
    for (std::size_t i = 0; i < calls.tickets.size(); ++i) {
      const Ticket& ticket = calls.tickets[i];
      ASSERT_TRUE(ticket.done()) << i;
      const bool began = std::ranges::binary_search(device.begun, static_cast<Bytes>(i));
      EXPECT_FALSE(began && calls.cancelled[i]);
      ASSERT_EQ(ticket.status().ok(), began && !fails(static_cast<Bytes>(i)));
      if (ticket.status().ok()) continue;
      EXPECT_EQ(code_of(ticket), began ? ErrorCode::kIo : ErrorCode::kInterrupted) << i;
    }
  }
}

TEST_P(TransferQueueTest, WhatHasBegunIsNotCancelled) {
  Device device;
  const auto queue = make(device);
  const Ticket first = queue->put({0, 0, kBlockAlignment});
  EXPECT_TRUE(queue->wait(first).ok());
  EXPECT_FALSE(queue->cancel(first));
  EXPECT_TRUE(first.status().ok());
}

TEST_P(TransferQueueTest, WhatIsUnderWayRunsOutWhenTheQueueEnds) {
  Device device;
  auto queue = make(device, 0, 2 * kBlockAlignment);
  const Ticket warm = queue->put({0, 0, kBlockAlignment});
  ASSERT_TRUE(queue->wait(warm).ok());
  std::vector<Ticket> tickets;
  for (Bytes i = 1; i <= 3; ++i) tickets.push_back(queue->put({i, 0, kBlockAlignment}));
  if (GetParam()) {
    const auto begun = [&] {
      const std::lock_guard lock(device.mutex);
      return device.begun.size();
    };
    while (begun() < 2) std::this_thread::yield();
  } else {
    ASSERT_TRUE(queue->wait(tickets[0]).ok());
  }
  queue.reset();
  EXPECT_TRUE(tickets[0].done() && tickets[0].status().ok());
  for (const Ticket& each : tickets) EXPECT_TRUE(each.done());
}

TEST_P(TransferQueueTest, WhoIsCalledBackMayPutInMore) {
  Device device;
  const auto queue = make(device);
  std::optional<Ticket> second;
  const Ticket first = queue->put({0, 0, kBlockAlignment}, [&](const Status&) {
    second = queue->put({1, 0, kBlockAlignment});
  });
  ASSERT_TRUE(queue->wait(first).ok());
  EXPECT_TRUE(queue->wait(*second).ok());
  EXPECT_EQ(device.begun, (std::vector<Bytes>{0, 1}));
}

TEST(TransferQueueThread, ServesManyThreads) {
  constexpr int kThreads = 4, kEach = 50;
  Device device;
  TransferQueue queue(std::make_unique<DrawnEngine>(device, 1),
                      {.thread = {{.name = "a name longer than fifteen"}}, .bytes_under_way = 3 * kBlockAlignment});
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&queue, thread] {
        for (int i = 0; i < kEach; ++i) {
          const Bytes number = thread * kEach + i;
          EXPECT_EQ(queue.wait(queue.put({number, 0, kBlockAlignment})).ok(), !fails(number)) << number;
        }
      });
    }
  }
  std::vector<Bytes> begun = device.begun, every(kThreads * kEach);
  std::ranges::sort(begun);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(begun, every);
}

// Held: nothing is finished until the device is released.
TEST(TransferQueueThread, WaitsForADeviceThatTakesItsTime) {
  Device device;
  device.held = true;
  std::vector<Ticket> tickets;
  std::jthread later;
  {
    TransferQueue queue(std::make_unique<DrawnEngine>(device, 1),
                        {.thread = {{.name = "test"}}, .bytes_under_way = kBlockAlignment});
    for (Bytes i = 0; i < 3; ++i) tickets.push_back(queue.put({i, 0, kBlockAlignment}));
    const auto has_begun = [&] {
      const std::lock_guard lock(device.mutex);
      return !device.begun.empty();
    };
    while (!has_begun()) std::this_thread::yield();
    EXPECT_FALSE(queue.cancel(tickets[0]));
    EXPECT_TRUE(queue.cancel(tickets[1]));
    EXPECT_FALSE(tickets[0].done());
    later = std::jthread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      device.release();
    });
  }
  EXPECT_TRUE(tickets[0].status().ok()) << "it was under way when the queue ended";
  EXPECT_EQ(code_of(tickets[1]), ErrorCode::kInterrupted);
  EXPECT_EQ(code_of(tickets[2]), ErrorCode::kInterrupted);
  EXPECT_EQ(device.begun, std::vector<Bytes>{0});
}

TEST(TransferQueueOfACaller, MovesBytesOverARealLink) {
  const Machine machine = [] {
    Machine made;
    made.tiers = {{.name = "dram"}, {.name = "file"}};
    made.tiers[1].kind = TierKind::kFile;
    made.tiers[1].path = ::testing::TempDir();
    made.links = {{.from = 0, .to = 1}, {.from = 1, .to = 0}};
    return made;
  }();
  const TierStorages storages = TierStorages::open(machine, std::vector<Bytes>{2 * kMiB, 2 * kMiB}).value();
  TransferQueue out(make_engine(machine, 0, storages).value(), {}), in(make_engine(machine, 1, storages).value(), {});
  std::byte* const memory = storages.base(0);
  for (Bytes at = 0; at < kMiB; at += kBlockAlignment)
    memory[at] = static_cast<std::byte>(1 + at / kBlockAlignment % 251);
  for (Bytes at = 0; at < kMiB; at += kBlockAlignment) {
    ASSERT_TRUE(out.wait(out.put({at, at + kMiB, kBlockAlignment})).ok());
    ASSERT_TRUE(in.wait(in.put({at + kMiB, at + kMiB, kBlockAlignment})).ok());
  }
  EXPECT_TRUE(std::equal(memory, memory + kMiB, memory + kMiB));
}

}  // namespace
}  // namespace sluice::memory

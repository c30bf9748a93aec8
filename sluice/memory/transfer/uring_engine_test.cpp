// What only the io_uring engine does: real and injected errors of the kernel, short transfers, refused registration.
#include "sluice/memory/transfer/uring_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;
using Direction = UringEngine::Direction;

constexpr Bytes kFileRoom = 8 * kMiB;

class UringEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Machine machine = make_machine({.spill_path = ::testing::TempDir()}).value();
    storages_ = TierStorages::open(machine, std::vector<Bytes>{kFileRoom, kFileRoom}).value();
    for (Bytes i = 0; i < kFileRoom; ++i) content_.push_back(static_cast<std::byte>(i * 7 >> 5));
  }

  UringEngine::Config config(Direction direction) const {
    UringEngine::Config made;
    made.direction = direction;
    made.arena = storages_.base(0);
    made.arena_bytes = kFileRoom;
    made.descriptor = storages_.file(1)->descriptor();
    made.tier = "file";
    made.request_bytes = 256 * kKiB;
    made.queue_depth = 4;
    return made;
  }

  std::vector<FinishedTransfer> drain(UringEngine& engine) {
    std::vector<FinishedTransfer> finished;
    while (engine.in_flight() > 0) engine.wait(std::nullopt, finished);
    std::sort(finished.begin(), finished.end(), [](auto& a, auto& b) { return a.transfer < b.transfer; });
    return finished;
  }

  // One transfer of everything, with what the kernel says altered.
  Status transfer_all(Direction direction, std::function<std::int32_t(std::int64_t, std::int32_t)> alter) {
    auto altered = config(direction);
    altered.alter_result = std::move(alter);
    auto engine = UringEngine::create(std::move(altered)).value();
    engine->submit(0, 0, 0, kFileRoom);
    return drain(*engine).at(0).status;
  }

  bool file_holds_content() {
    std::vector<std::byte> back(content_.size());
    return storages_.read(1, 0, back).ok() && back == content_;
  }

  TierStorages storages_;
  std::vector<std::byte> content_;
};

TEST_F(UringEngineTest, ShortTransfersAreResumed) {
  ASSERT_TRUE(storages_.write(0, 0, content_).ok());
  int shortened = 0;
  const Status status = transfer_all(Direction::kToFile, [&](std::int64_t request, std::int32_t result) {
    if (request % 3 != 0 || result <= 4096) return result;
    ++shortened;
    return result / 2 + 100;  // not a block boundary: the resumed request must start at one
  });
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_GT(shortened, 10);
  EXPECT_TRUE(file_holds_content());
}

TEST_F(UringEngineTest, InterruptedRequestsAreTriedAgain) {
  ASSERT_TRUE(storages_.write(1, 0, content_).ok());
  const Status status = transfer_all(Direction::kFromFile, [](std::int64_t request, std::int32_t result) {
    return request < 10 ? (request % 2 == 0 ? -EINTR : -EAGAIN) : result;
  });
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(std::memcmp(storages_.base(0), content_.data(), content_.size()), 0);
}

TEST_F(UringEngineTest, ErrorsNameTierOffsetBytesAndCause) {
  const Status io = transfer_all(
      Direction::kFromFile, [](std::int64_t request, std::int32_t result) { return request == 5 ? -EIO : result; });
  ASSERT_FALSE(io.ok());
  EXPECT_EQ(io.error().code, ErrorCode::kIo);
  EXPECT_THAT(io.error().message, HasSubstr("cannot read 256.0 KiB at offset"));
  EXPECT_THAT(io.error().message, HasSubstr("of tier 'file': Input/output error"));
  const Status full = transfer_all(
      Direction::kToFile, [](std::int64_t request, std::int32_t result) { return request == 7 ? -ENOSPC : result; });
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(full.error().message, HasSubstr("No space left on device"));
}

TEST_F(UringEngineTest, OneFailureLeavesOtherTransfersAlone) {
  auto failing = config(Direction::kToFile);
  failing.alter_result = [](std::int64_t request, std::int32_t result) { return request == 9 ? -EIO : result; };
  ASSERT_TRUE(storages_.write(0, 0, content_).ok());
  auto engine = UringEngine::create(std::move(failing)).value();
  for (TransferId i = 0; i < 8; ++i) engine->submit(i, i * kMiB, i * kMiB, kMiB);
  const auto finished = drain(*engine);
  ASSERT_EQ(finished.size(), 8U);
  EXPECT_EQ(std::count_if(finished.begin(), finished.end(), [](auto& each) { return !each.status.ok(); }), 1);
  for (const FinishedTransfer& each : finished) {
    if (!each.status.ok()) continue;
    std::vector<std::byte> back(as_index(kMiB));
    ASSERT_TRUE(storages_.read(1, each.transfer * kMiB, back).ok());
    EXPECT_EQ(std::memcmp(back.data(), content_.data() + each.transfer * kMiB, back.size()), 0);
  }
}

// No injection: the file is really cut short under the engine.
TEST_F(UringEngineTest, FileCutShortIsAnError) {
  ASSERT_EQ(::ftruncate(storages_.file(1)->descriptor(), 3 * kMiB + 5000), 0);
  const Status status = transfer_all(Direction::kFromFile, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("it ended early"));
}

// No injection: the system really refuses to let the file grow in the middle of a transfer, as a full disk would.
TEST_F(UringEngineTest, FileThatMayNotGrowIsOutOfSpace) {
  ASSERT_EQ(::ftruncate(storages_.file(1)->descriptor(), kMiB), 0);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit lowered = before;
  lowered.rlim_cur = static_cast<rlim_t>(4 * kMiB);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lowered), 0);
  const Status status = transfer_all(Direction::kToFile, {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(status.error().message, HasSubstr("File too large"));
}

TEST_F(UringEngineTest, WrongDescriptorIsAnErrorNotACrash) {
  auto broken = config(Direction::kToFile);
  broken.descriptor = -1;
  auto engine = UringEngine::create(std::move(broken)).value();
  engine->submit(0, 0, 0, kFileRoom);
  const auto finished = drain(*engine);
  ASSERT_FALSE(finished.at(0).status.ok());
  EXPECT_THAT(finished.at(0).status.error().message, HasSubstr("Bad file descriptor"));
}

TEST_F(UringEngineTest, RefusedRegistrationFallsBackAndSaysSo) {
  ASSERT_TRUE(storages_.write(0, 0, content_).ok());
  auto larger = config(Direction::kToFile);
  larger.arena_bytes = Bytes{1} << 46;  // far beyond what is mapped: the kernel refuses to register it
  auto engine = UringEngine::create(std::move(larger)).value();
  ASSERT_EQ(engine->notes().size(), 1U);
  EXPECT_THAT(engine->notes()[0], HasSubstr("unregistered buffers"));
  engine->submit(0, 0, 0, kFileRoom);
  EXPECT_TRUE(drain(*engine).at(0).status.ok());
  EXPECT_TRUE(file_holds_content());
}

TEST_F(UringEngineTest, TransfersOutsideTheArenaAreOurMistake) {
  auto engine = UringEngine::create(config(Direction::kFromFile)).value();
  EXPECT_THROW(engine->submit(0, 0, kFileRoom - 4096, 8192), std::logic_error);
  EXPECT_THROW(engine->submit(0, 0, 0, 100), std::logic_error);
}

}  // namespace
}  // namespace sluice::memory

// What a program does that has too much data for its fast memory, and nothing else of Sluice: places objects, moves them to
// a slow tier and back, in fewer bytes too, and sees which pages are touched.
#include <gtest/gtest.h>

#include <cstring>

#include "sluice/base/random.hpp"
#include "sluice/memory/observe/page_tracker.hpp"
#include "sluice/memory/offsets/offset_packer.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/transfer/encoding_engine.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"
#include "sluice/memory/transfer/transfer_queue.hpp"

namespace sluice::tests {
namespace {

constexpr Bytes kObjectBytes = 2 * memory::kEncodedChunkBytes;

// A machine with one slow tier, and room for two objects in each.
class MemoryCore : public ::testing::TestWithParam<const char*> {
 protected:
  MemoryCore() {
    machine_ =
        memory::make_machine({.slow = {{GetParam(), 2 * kObjectBytes}}, .spill_path = ::testing::TempDir()}).value();
    storages_ = memory::TierStorages::open(machine_, std::vector(2, 4 * kObjectBytes)).value();
    for (Bytes at = 0; at < kObjectBytes; at += 4) {
      const auto word = static_cast<std::uint32_t>(random_bits(1, 2, static_cast<std::uint64_t>(at)));
      const std::uint32_t often_zero = word % 2 == 0 ? 0 : word;
      std::memcpy(object() + at, &often_zero, sizeof often_zero);
    }
  }

  std::byte* object() const { return storages_.base(memory::kFastTier); }
  std::byte* back() const { return object() + kObjectBytes; }
  std::unique_ptr<memory::TransferEngine> engine(memory::TierId from, memory::TierId to) const {
    return memory::make_engine(machine_, machine_.link_between(from, to).value(), storages_).value();
  }
  static void move(std::unique_ptr<memory::TransferEngine> engine, Bytes from, Bytes to) {
    memory::TransferQueue queue(std::move(engine), {});
    const Status status = queue.wait(queue.put({from, to, kObjectBytes}));
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  bool came_back() const { return std::memcmp(object(), back(), static_cast<std::size_t>(kObjectBytes)) == 0; }

  memory::Machine machine_;
  memory::TierStorages storages_;
};

TEST_P(MemoryCore, MovesAnObjectAwayAndBack) {
  move(engine(memory::kFastTier, 1), 0, kObjectBytes);
  move(engine(1, memory::kFastTier), kObjectBytes, kObjectBytes);
  EXPECT_TRUE(came_back());
}

TEST_P(MemoryCore, MovesItInFewerBytes) {
  std::vector<memory::StoredChunk> chunks(2);
  Bytes moved = 0;
  const auto encoding = [&](memory::TierId from, memory::TierId to) {
    return std::make_unique<memory::EncodingEngine>(
        engine(from, to), memory::EncodingEngine::Config{
                              .encodes = from == memory::kFastTier,
                              .arena = object(),
                              .staging = {2 * kObjectBytes, 3 * kObjectBytes},
                              .find = [&](memory::TransferId) {
                                return memory::EncodedTransfer{memory::Encoding::kZeroValue, 4, &chunks, &moved};
                              }});
  };
  move(encoding(memory::kFastTier, 1), 0, 0);
  EXPECT_LT(moved, kObjectBytes * 7 / 10);
  move(encoding(1, memory::kFastTier), 0, kObjectBytes);
  EXPECT_TRUE(came_back());
}

INSTANTIATE_TEST_SUITE_P(SlowTiers, MemoryCore, ::testing::Values("file", "pmbd"));

TEST(MemoryCoreAlone, PlacesObjectsByTheirLives) {
  const std::vector<memory::OffsetItem> items{{.bytes = kMiB, .live = {{0, 2}}}, {.bytes = kMiB, .live = {{2, 4}}}};
  EXPECT_EQ(memory::pack_offsets(items, kMiB).height, kMiB);
}

TEST(MemoryCoreAlone, SeesWhichPagesAreWritten) {
  const memory::Arena arena = memory::Arena::map(kMiB, "watched").value();
  auto tracker = memory::PageTracker::start({.reach = 32 * memory::kSmallestChunk});
  if (!tracker.ok()) GTEST_SKIP() << tracker.error().message;
  const auto range = (*tracker)->add_range(arena.data(), kMiB, memory::kSmallestChunk).value();
  ASSERT_TRUE((*tracker)->watch(range).ok());
  for (const Bytes page : {3, 5})
    *const_cast<volatile std::byte*>(arena.data() + page * memory::kSmallestChunk) = std::byte{1};
  (*tracker)->unwatch(range);
  EXPECT_EQ((*tracker)->take_counts(range), (memory::PageTouches{0, 2}));
}

}  // namespace
}  // namespace sluice::tests

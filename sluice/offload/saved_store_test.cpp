#include "sluice/offload/saved_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace sluice {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<SavedStore> store_of(Bytes file_bytes) {
  auto store = SavedStore::open({::testing::TempDir(), file_bytes});
  SLUICE_CHECK(store.ok(), store.error().message);
  return std::move(store).value();
}

// Bytes that no other number has.
std::vector<std::byte> pattern(Bytes bytes, int number) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  for (std::size_t begin = 0; begin < data.size(); begin += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(&data[begin], &word, std::min(sizeof word, data.size() - begin));
  }
  return data;
}

// Whole pages for bytes to come back into.
Arena pages_for(Bytes bytes) { return Arena::map(SavedStore::whole_pages(bytes), "test").value(); }

bool same(const Arena& back, const std::vector<std::byte>& data) {
  return std::memcmp(back.data(), data.data(), data.size()) == 0;
}

TEST(SavedStoreTest, BytesComeBackAsTheyLeft) {
  const auto store = store_of(64 * kMiB);
  for (const Bytes bytes : {Bytes{1}, Bytes{4096}, 5 * kMiB + 17, 16 * kMiB}) {
    std::vector<std::byte> data = pattern(bytes, 1);
    const std::vector<std::byte> before = data;
    const auto id = store->leave(data.data(), bytes);
    ASSERT_TRUE(id.has_value());
    ASSERT_TRUE(store->wait_left(*id).ok());
    EXPECT_TRUE(store->left(*id));
    std::ranges::fill(data, std::byte{0});  // its memory is somebody else's now
    const Arena back = pages_for(bytes);
    store->bring(*id, back.data());
    const Status here = store->wait_here(*id);
    ASSERT_TRUE(here.ok()) << here.error().message;
    EXPECT_TRUE(same(back, before)) << bytes;
    store->forget(*id);
  }
}

TEST(SavedStoreTest, ManyAreUnderWayAtOnce) {
  const auto store = store_of(64 * kMiB);
  std::vector<std::vector<std::byte>> data;
  std::vector<SavedStore::Id> ids;
  std::vector<Arena> back;
  for (int i = 0; i < 12; ++i) data.push_back(pattern(3 * kMiB + 4099 * i, i));
  for (const auto& each : data) {
    ids.push_back(*store->leave(each.data(), static_cast<Bytes>(each.size())));
    back.push_back(pages_for(static_cast<Bytes>(each.size())));
  }
  for (std::size_t i = ids.size(); i-- > 0;) store->bring(ids[i], back[i].data());
  for (std::size_t i = ids.size(); i-- > 0;) {
    ASSERT_TRUE(store->wait_here(ids[i]).ok());
    EXPECT_TRUE(same(back[i], data[i])) << i;
    store->forget(ids[i]);
  }
}

TEST(SavedStoreTest, AFullFileIsTold) {
  const auto store = store_of(8 * kMiB);
  const std::vector<std::byte> data = pattern(3 * kMiB, 1);
  const auto first = store->leave(data.data(), 3 * kMiB), second = store->leave(data.data(), 3 * kMiB);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(store->leave(data.data(), 3 * kMiB).has_value());
  store->forget(*first);
  store->forget(*second);
}

TEST(SavedStoreTest, WhatIsForgottenOnTheWayDisturbsNobody) {
  const auto store = store_of(24 * kMiB);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::byte> gone = pattern(6 * kMiB, round);
    Arena nobody = pages_for(6 * kMiB);
    const auto id = store->leave(gone.data(), 6 * kMiB);
    ASSERT_TRUE(id.has_value());
    if (round % 2 == 0) store->bring(*id, nobody.data());
    if (round % 3 == 0) {
      EXPECT_TRUE(store->wait_left(*id).ok());
    }
    store->forget(*id);
    std::ranges::fill(gone, std::byte{0});
    nobody = Arena();
    const std::vector<std::byte> stays = pattern(5 * kMiB, 100 + round);
    const Arena back = pages_for(5 * kMiB);
    const auto next = store->leave(stays.data(), 5 * kMiB);
    ASSERT_TRUE(next.has_value());
    store->bring(*next, back.data());
    ASSERT_TRUE(store->wait_here(*next).ok());
    EXPECT_TRUE(same(back, stays)) << round;
    store->forget(*next);
  }
}

TEST(SavedStoreTest, AFolderThatIsNotThereIsNamed) {
  const auto store = SavedStore::open({"/no/such/folder", kMiB});
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("/no/such/folder"));
  EXPECT_FALSE(SavedStore::open({::testing::TempDir(), 0}).ok());
}

}  // namespace
}  // namespace sluice

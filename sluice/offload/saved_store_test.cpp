#include "sluice/offload/saved_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::offload {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<SavedStore> store_of(Bytes file_bytes) {
  auto store = SavedStore::open({::testing::TempDir(), file_bytes});
  SLUICE_CHECK(store.ok(), store.error().message);
  return std::move(store).value();
}

// Whole pages for that many bytes.
memory::Arena pages_for(Bytes bytes) { return memory::Arena::map(SavedStore::whole_pages(bytes), "test").value(); }

// Bytes that no other number has.
memory::Arena pattern(Bytes bytes, int number) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  memory::Arena data = pages_for(bytes);
  for (Bytes begin = 0; begin < data.bytes(); begin += static_cast<Bytes>(sizeof(std::uint64_t))) {
    const std::uint64_t word = random();
    std::memcpy(data.data() + begin, &word, sizeof word);
  }
  return data;
}

bool same(const memory::Arena& one, const memory::Arena& other) {
  return one.bytes() == other.bytes() && std::memcmp(one.data(), other.data(), as_index(one.bytes())) == 0;
}

void clear(const memory::Arena& data) { std::memset(data.data(), 0, as_index(data.bytes())); }

TEST(SavedStoreTest, BytesComeBackAsTheyLeft) {
  const auto store = store_of(64 * kMiB);
  for (const Bytes bytes : {Bytes{1}, Bytes{4096}, 5 * kMiB + 17, 16 * kMiB}) {
    const memory::Arena data = pattern(bytes, 1), before = pattern(bytes, 1);
    const auto id = store->leave(data.data(), bytes);
    ASSERT_TRUE(id.has_value());
    ASSERT_TRUE(store->wait_left(*id).ok());
    EXPECT_TRUE(store->left(*id));
    clear(data);                            // its memory is somebody else's now
    for (int time = 0; time < 2; ++time) {  // as often as wanted
      const memory::Arena back = pages_for(bytes);
      store->bring(*id, back.data());
      const Status here = store->wait_here(*id);
      ASSERT_TRUE(here.ok()) << here.error().message;
      EXPECT_TRUE(store->here(*id));
      EXPECT_TRUE(same(back, before)) << bytes;
    }
    EXPECT_FALSE(store->empty());
    store->forget(*id);
    EXPECT_TRUE(store->empty());
  }
}

TEST(SavedStoreTest, ManyAreUnderWayAtOnce) {
  const auto store = store_of(256 * kMiB);
  std::vector<memory::Arena> data, back;
  std::vector<SavedStore::Id> ids;
  for (int i = 0; i < 24; ++i) {  // more than an engine has at a time
    data.push_back(pattern(8 * kMiB + 4099 * i, i));
    back.push_back(pages_for(8 * kMiB + 4099 * i));
  }
  for (const memory::Arena& each : data) ids.push_back(*store->leave(each.data(), each.bytes()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(store->wait_left(ids[i]).ok());
    if (i >= 12) store->bring(ids[i - 12], back[i - 12].data());  // while others leave
  }
  for (std::size_t i = 12; i < ids.size(); ++i) store->bring(ids[i], back[i].data());
  for (std::size_t i = ids.size(); i-- > 0;) {
    ASSERT_TRUE(store->wait_here(ids[i]).ok());
    EXPECT_TRUE(same(back[i], data[i])) << i;
    store->forget(ids[i]);
  }
}

TEST(SavedStoreTest, AFullFileIsTold) {
  const auto store = store_of(8 * kMiB);
  const memory::Arena data = pattern(3 * kMiB, 1);
  const auto first = store->leave(data.data(), 3 * kMiB), second = store->leave(data.data(), 3 * kMiB);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(store->leave(data.data(), 3 * kMiB).has_value());
  store->forget(*first);
  EXPECT_TRUE(store->leave(data.data(), 3 * kMiB).has_value()) << "there is room again";
}

TEST(SavedStoreTest, WhatIsForgottenOnTheWayDisturbsNobody) {
  const auto store = store_of(24 * kMiB);
  for (int round = 0; round < 30; ++round) {
    const memory::Arena gone = pattern(6 * kMiB, round);
    memory::Arena nobody = pages_for(6 * kMiB);
    const auto id = store->leave(gone.data(), 6 * kMiB);
    ASSERT_TRUE(id.has_value());
    if (round % 3 > 0) {
      ASSERT_TRUE(store->wait_left(*id).ok());
    }
    if (round % 3 > 1) store->bring(*id, nobody.data());
    store->forget(*id);
    clear(gone);
    nobody = memory::Arena();
    const memory::Arena stays = pattern(5 * kMiB, 100 + round), back = pages_for(5 * kMiB);
    const auto next = store->leave(stays.data(), 5 * kMiB);
    ASSERT_TRUE(next.has_value());
    ASSERT_TRUE(store->wait_left(*next).ok());
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
}  // namespace sluice::offload

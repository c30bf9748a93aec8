#include "sluice/base/hash.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace sluice {
namespace {

TEST(Hasher, GivesTheKnownDigestOfNothing) {
  EXPECT_EQ(Hasher().hex(), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of an empty input, seed 0
}

TEST(Hasher, DependsOnEveryByteAndOnOrder) {
  const auto digest = [](std::int64_t a, std::int64_t b) { return Hasher().add(a).add(b).hex(); };
  EXPECT_EQ(digest(1, 2), digest(1, 2));
  EXPECT_NE(digest(1, 2), digest(2, 1));
  EXPECT_NE(digest(1, 2), digest(1, 3));
}

TEST(Hasher, TellsTextBoundariesApart) {
  const auto digest = [](std::string_view a, std::string_view b) { return Hasher().add(a).add(b).hex(); };
  EXPECT_NE(digest("ab", "c"), digest("a", "bc"));
  EXPECT_NE(digest("", "abc"), digest("abc", ""));
}

TEST(Hasher, StreamsBytesInAnyPieces) {
  const std::array<std::byte, 4> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  const std::span<const std::byte> all(bytes);
  EXPECT_EQ(Hasher().add(all).hex(), Hasher().add(all.first(1)).add(all.subspan(1)).hex());
}

TEST(Hasher, ReportsSoFarAndGoesOn) {
  Hasher hasher;
  const std::string before = hasher.add(std::int64_t{1}).hex();
  EXPECT_EQ(before, hasher.hex());
  EXPECT_EQ(hasher.add(std::int64_t{2}).hex(), Hasher().add(std::int64_t{1}).add(std::int64_t{2}).hex());
}

TEST(Hasher, KeepsItsStateWhenMoved) {
  Hasher hasher;
  hasher.add(std::int64_t{1});
  Hasher moved = std::move(hasher);
  EXPECT_EQ(moved.hex(), Hasher().add(std::int64_t{1}).hex());
}

}  // namespace
}  // namespace sluice

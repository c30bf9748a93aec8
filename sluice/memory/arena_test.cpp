#include "sluice/memory/arena.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

Bytes resident_bytes(const Arena& arena) {
  std::vector<unsigned char> pages(as_index(arena.bytes() / kBlockAlignment));
  EXPECT_EQ(::mincore(arena.data(), as_index(arena.bytes()), pages.data()), 0);
  Bytes resident = 0;
  for (const unsigned char page : pages) resident += (page & 1) * kBlockAlignment;
  return resident;
}

TEST(Arena, HasExactlyTheBytesAskedForRoundedDownToAPage) {
  auto arena = Arena::map(5 * kMiB + 4097, "dram");
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->bytes(), 5 * kMiB + kBlockAlignment);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->data()) % (2 * kMiB), 0U);
  std::memset(arena->data(), 1, as_index(arena->bytes()));
  // What was mapped around it to align it has been given back: the page after the arena is not ours.
  unsigned char page = 0;
  EXPECT_NE(::mincore(arena->data() + arena->bytes(), 1, &page), 0);
}

TEST(Arena, TouchesNothingUntilPrefaulted) {
  auto arena = Arena::map(8 * kMiB, "dram");
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(resident_bytes(*arena), 0);
  arena->data()[3 * kMiB] = std::byte{42};
  arena->prefault(2);
  EXPECT_EQ(resident_bytes(*arena), 8 * kMiB);
  EXPECT_EQ(arena->data()[3 * kMiB], std::byte{42});
}

TEST(Arena, MovesWithoutMovingItsBytes) {
  Arena first = Arena::map(kMiB, "dram").value();
  std::byte* const data = first.data();
  data[0] = std::byte{7};
  Arena second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.bytes(), 0);
  first = std::move(second);
  EXPECT_EQ(first.data()[0], std::byte{7});
}

TEST(Arena, OfNothingIsEmpty) {
  EXPECT_EQ(Arena::map(0, "dram")->data(), nullptr);
  EXPECT_EQ(Arena::map(4095, "dram")->bytes(), 0);
}

// 5 MiB, a hole, and two stitches: one of two pieces at addresses unlike theirs, one of a piece that huge pages can map.
TEST(Arena, StitchesAreItsMemoryAgain) {
  const std::vector<Stitch> stitches{
      {6 * kMiB + kBlockAlignment, {{4 * kMiB, 4 * kMiB + kBlockAlignment}, {kMiB, kMiB + 2 * kBlockAlignment}}},
      {8 * kMiB, {{0, 5 * kMiB}}}};
  auto arena = Arena::map_stitched(5 * kMiB, stitches, "dram");
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  EXPECT_EQ(arena->bytes(), 13 * kMiB);
  for (Bytes at = 0; at < 5 * kMiB; ++at) arena->data()[at] = static_cast<std::byte>(at / 4093);
  for (const Stitch& stitch : stitches) {
    Bytes address = stitch.address;
    for (const Interval<Bytes>& piece : stitch.memory) {
      ASSERT_EQ(std::memcmp(arena->data() + address, arena->data() + piece.begin, piece.length()), 0);
      address += piece.length();
    }
  }
  arena->data()[stitches[0].address + kBlockAlignment + 5] = std::byte{99};
  EXPECT_EQ(arena->data()[kMiB + 5], std::byte{99});
  EXPECT_EQ(arena->data()[9 * kMiB + 5], std::byte{99});
  EXPECT_EQ(resident_bytes(*arena), 13 * kMiB) << "touched, the hole too";
}

// 32 MiB at eight times as many addresses, in pieces of 64 KiB that no huge page fits: the case for which an arena may
// begin anew with small pages. What is written through one address is read through every other, and memory is not
// taken twice.
TEST(Arena, ManyPiecesOfHugePagesAreItsMemoryToo) {
  constexpr Bytes kBytes = 32 * kMiB, kPiece = 64 * kKiB;
  constexpr Bytes kPieces = kBytes / kPiece;
  std::vector<Stitch> stitches;
  for (Bytes i = 0; i < 8; ++i) {
    stitches.push_back({(i + 1) * kBytes, {}});
    for (Bytes piece = 0; piece < kPieces; ++piece) {
      const Bytes from = (piece * 7 + i * 13) % kPieces * kPiece;
      stitches.back().memory.push_back({from, from + kPiece});
    }
  }
  auto arena = Arena::map_stitched(kBytes, stitches, "dram");
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  for (int round = 0; round < 3; ++round) {
    for (Bytes piece = 0; piece < kPieces; ++piece) {
      const Bytes writer = (piece + round) % 8;
      const Interval<Bytes> memory = stitches[as_index(writer)].memory[as_index(piece)];
      arena->data()[(writer + 1) * kBytes + piece * kPiece] = static_cast<std::byte>(piece + round);
      ASSERT_EQ(arena->data()[memory.begin], static_cast<std::byte>(piece + round));
    }
  }
  EXPECT_EQ(resident_bytes(*arena), 9 * kBytes) << "its addresses all have memory";
}

TEST(Arena, SaysWhatItCouldNotStitch) {
  const std::vector<Stitch> stitches{{Bytes{1} << 50, {{0, kMiB}}}};
  const auto arena = Arena::map_stitched(kMiB, stitches, "dram");
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfSpace);
  EXPECT_NE(arena.error().message.find("'dram'"), std::string::npos);
}

TEST(Arena, SaysWhatItCouldNotMap) {
  const auto arena = Arena::map(Bytes{1} << 50, "dram");
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfSpace);
  EXPECT_NE(arena.error().message.find("'dram'"), std::string::npos);
  EXPECT_NE(arena.error().message.find("1048576.00 GiB"), std::string::npos);
}

}  // namespace
}  // namespace sluice::memory

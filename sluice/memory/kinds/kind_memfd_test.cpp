// The tier in reserved huge pages: the same memory with them and without, and which of the two it is said truthfully.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "sluice/memory/arena.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/testing/refused_calls.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;

Machine memfd_machine(Bytes capacity = 0) { return make_machine({.slow = {{"memfd", capacity}}}).value(); }

Result<Arena> map_memfd_arena(Bytes bytes) {
  const Machine machine = memfd_machine();
  return machine.tier(1).kind->map(machine.tier(1), bytes);
}

// What the kernel says of the mapping at `data`: "2048 kB" where `field` is KernelPageSize and its pages are huge ones.
std::string mapping_field(const std::byte* data, const std::string& field) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    char* rest = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    if (*rest == '-') inside = begin <= address && address < std::strtoull(rest + 1, nullptr, 16);
    if (inside && line.starts_with(field + ":")) return line.substr(line.find_first_not_of(' ', field.size() + 1));
  }
  return "";
}

TEST(Memfd, IsAllThereAndKeepsWhatIsWritten) {
  constexpr Bytes kBytes = 3 * kMiB + kBlockAlignment;  // not whole huge pages
  const auto arena = map_memfd_arena(kBytes + 17);
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  EXPECT_EQ(arena->bytes(), kBytes);
  EXPECT_NE(mapping_field(arena->data(), "Shared_Dirty") + mapping_field(arena->data(), "Private_Dirty") +
                mapping_field(arena->data(), "Private_Hugetlb"),
            "0 kB0 kB0 kB")
      << "touched when it was mapped";
  for (Bytes at = 0; at < kBytes; ++at) arena->data()[at] = static_cast<std::byte>(at / 4093);
  for (Bytes at = 0; at < kBytes; ++at) ASSERT_EQ(arena->data()[at], static_cast<std::byte>(at / 4093)) << at;
}

TEST(Memfd, SaysTrulyWhichPagesItHas) {
  const auto arena = map_memfd_arena(4 * kMiB);
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  const bool reserved = mapping_field(arena->data(), "KernelPageSize") == "2048 kB";
  EXPECT_EQ(arena->notes().empty(), reserved);
  if (reserved) return;
  ASSERT_EQ(arena->notes().size(), 1U);
  EXPECT_THAT(arena->notes().front(), HasSubstr("of the 2 reserved ones that it takes"));
  const bool transparent = mapping_field(arena->data(), "ShmemPmdMapped") == "4096 kB";
  EXPECT_THAT(arena->notes().front(), HasSubstr(transparent ? "uses transparent 2 MiB pages" : "uses 4 KiB pages"));
}

TEST(Memfd, GivesItsMemoryBack) {
  const std::byte* data = nullptr;
  {
    const auto arena = map_memfd_arena(kMiB);
    ASSERT_TRUE(arena.ok()) << arena.error().message;
    data = arena->data();
    EXPECT_NE(mapping_field(data, "Size"), "");
  }
  EXPECT_EQ(mapping_field(data, "Size"), "");
}

TEST(Memfd, IsMemoryThatOpsUseInPlaceAsLargeAsIsSaid) {
  const Machine machine = memfd_machine(kGiB);
  EXPECT_EQ(machine.tier(1).capacity, kGiB);
  EXPECT_TRUE(machine.tier(1).addressable);
  for (const Link& link : machine.links) EXPECT_EQ(link.copied_by, CopiedBy::kProcessor);
}

TEST(Memfd, SaysWhatItCouldNotMap) {
  const auto arena = map_memfd_arena(Bytes{1} << 42);
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfSpace);
  EXPECT_EQ(arena.error().requested_bytes, Bytes{1} << 42);
  EXPECT_LT(arena.error().available_bytes, Bytes{1} << 42);
  EXPECT_THAT(arena.error().message, HasSubstr("4096.00 GiB of shared memory for the arena of tier 'memfd'"));
}

TEST(MemfdDeathTest, ASystemThatForbidsItIsNamed) {
  const auto map = [] {
    testing::refuse_calls({SYS_memfd_create});
    const auto arena = map_memfd_arena(kMiB);
    std::cerr << arena.error().message;
    std::exit(arena.error().code == ErrorCode::kUnsupported ? 0 : 1);
  };
  EXPECT_EXIT(map(), ::testing::ExitedWithCode(0), "tier 'memfd' needs memfd_create, which the system forbids");
}

}  // namespace
}  // namespace sluice::memory

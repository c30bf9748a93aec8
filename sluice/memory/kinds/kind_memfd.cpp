// Shared memory (a memfd) in pages of 2 MiB that the system keeps for whoever asks: vm.nr_hugepages. Where it has too few, in
// ordinary shared memory, and the arena's notes say in which pages: transparent huge ones where transparent_hugepage's
// shmem_enabled allows them, else 4 KiB.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/building.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::memory {

extern const TierKind kMemfd;  // tier_kinds.cpp lists it

namespace {

constexpr const char* kMemfdName = "memfd";
constexpr unsigned kReservedPages = MFD_HUGETLB | (21U << MAP_HUGE_SHIFT);  // of 2^21 bytes

Bytes number_in(const std::string& path) {
  std::ifstream file(path);
  Bytes number = 0;
  file >> number;
  return number;
}

// Neither used nor promised to anybody.
Bytes free_reserved_pages() {
  const std::string folder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
  return std::max<Bytes>(0, number_in(folder + "free_hugepages") - number_in(folder + "resv_hugepages"));
}

// Whether shared memory may lie in transparent huge pages: another word than these in brackets.
bool may_be_transparent() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return words.find('[') != std::string::npos && words.find("[never]") == std::string::npos &&
         words.find("[deny]") == std::string::npos;
}

// What ordinary shared memory may take before the kernel must end programs.
Bytes available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (Bytes kibibytes = 0; name == "MemAvailable:" && file >> kibibytes) return kibibytes * kKiB;
  }
  return memory_capacity();
}

void unmap(std::byte* data, Bytes bytes) { ::munmap(data, as_index(align_up(bytes, kHugePage))); }

// Of whole huge pages; nullptr and errno where the system refuses.
std::byte* map_memfd(Bytes bytes, unsigned pages) {
  const int file = ::memfd_create("sluice-tier", MFD_CLOEXEC | pages);
  if (file < 0) return nullptr;
  const auto size = as_index(bytes);
  void* mapped = MAP_FAILED;
  if (::ftruncate(file, bytes) == 0) mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int refused = errno;
  ::close(file);  // the mapping keeps it
  errno = refused;
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

// The same pages when all of them are there; nullptr and errno where there is no memory for them.
std::byte* populated(std::byte* data, Bytes bytes) {
  // Kernels before Linux 5.14 do not know how (EINVAL): the first use touches them.
  if (::madvise(data, as_index(bytes), MADV_POPULATE_WRITE) == 0 || errno == EINVAL) return data;
  const int refused = errno;
  unmap(data, bytes);
  errno = refused;
  return nullptr;
}

Error no_memory(const Tier& tier, Bytes bytes, Bytes available, int refused) {
  if (refused == EPERM || refused == EACCES || refused == ENOSYS) {
    return {
        ErrorCode::kUnsupported,
        fmt::format("tier '{}' needs memfd_create, which the system forbids ({}): a container's filter of system calls "
                    "may; choose another slow tier",
                    tier.name, std::strerror(refused))};
  }
  return {ErrorCode::kOutOfSpace,
          fmt::format(
              "cannot map {} of shared memory for the arena of tier '{}', of {} available: {}; use less of the tier "
              "(a larger budget), or reserve 2 MiB pages (vm.nr_hugepages)",
              format_bytes(bytes), tier.name, format_bytes(available), std::strerror(refused)),
          bytes, available};
}

// `why_not`: what the system answered to the request for reserved pages.
Result<Arena> map_ordinary(const Tier& tier, Bytes bytes, const std::string& why_not) {
  const Bytes whole = align_up(bytes, kHugePage);
  if (const Bytes available = available_memory(); whole > available) return no_memory(tier, bytes, available, ENOMEM);
  std::byte* data = map_memfd(whole, 0);
  const bool huge = data != nullptr && may_be_transparent() && put_into_huge_pages(data, whole);
  if (data != nullptr) data = populated(data, whole);
  if (data == nullptr) return no_memory(tier, bytes, available_memory(), errno);
  return Arena::adopt(data, bytes, unmap,
                      {fmt::format("arena of tier '{}' uses {}: {}", tier.name,
                                   huge ? "transparent 2 MiB pages" : "4 KiB pages", why_not)});
}

Result<Arena> map_tier(const Tier& tier, Bytes bytes) {
  bytes = align_down(bytes, kBlockAlignment);
  if (bytes <= 0) return Arena();
  const Bytes whole = align_up(bytes, kHugePage);
  const Bytes free = free_reserved_pages();
  std::byte* data = map_memfd(whole, kReservedPages);
  if (data != nullptr) data = populated(data, whole);
  if (data != nullptr) return Arena::adopt(data, bytes, unmap);
  const int refused = errno;
  return map_ordinary(tier, bytes,
                      fmt::format("of the {} reserved ones that it takes {} are free ({}; vm.nr_hugepages)",
                                  whole / kHugePage, free, std::strerror(refused)));
}

Status add_memfd(const SlowTierOptions& slow, const std::string& /*spill_path*/, Machine& machine) {
  const Bytes reserved = free_reserved_pages() * kHugePage;
  if (reserved == 0) {
    spdlog::warn("--slow {}: no pages of 2 MiB are reserved (vm.nr_hugepages), so it is ordinary shared memory",
                 kMemfdName);
  }
  Tier tier;
  tier.name = kMemfdName;
  tier.kind = kMemfd;
  tier.capacity = slow.capacity > 0 ? slow.capacity : reserved > 0 ? reserved : memory_capacity();
  tier.read_bandwidth = tier.write_bandwidth = kNominalDramBandwidth;
  tier.latency = kDramLatency;
  join_as_fast_as_ends(add_tier(tier, machine), machine);
  return {};
}

constexpr TierTraits kMemfdTraits{.name = "memfd",
                                  .host_reaches = true,
                                  .figures = FiguresFrom::kTheTier,
                                  .map = map_tier,
                                  .names = [] { return std::vector<std::string>{kMemfdName}; },
                                  .is_named = [](std::string_view name) { return name == kMemfdName; },
                                  .add = add_memfd};

}  // namespace

constinit const TierKind kMemfd{kMemfdTraits};

}  // namespace sluice::memory

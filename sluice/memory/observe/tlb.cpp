#include "sluice/memory/observe/tlb.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

constexpr std::int64_t kAssumedEntries = 1536;
constexpr std::uint32_t kIntelDescriptors = 2;
constexpr std::uint32_t kIntelTranslation = 0x18;
constexpr std::uint32_t kAmdSecondLevel = 0x80000006;
constexpr std::uint32_t kMostSubleaves = 32;

// AMD: EBX bits 27..16 are the entries of the second-level data TLB for 4 KiB pages. Intel leaves EBX at 0.
std::int64_t amd_entries(const Cpuid& cpuid) { return (cpuid(kAmdSecondLevel, 0).ebx >> 16) & 0xFFF; }

// Intel: every subleaf is one TLB. EDX bits 4..0 are its kind (1 data, 3 unified, 4 loads), EBX bit 0 that it holds
// 4 KiB pages, bits 31..16 its ways; ECX its sets. The largest is the last level.
std::int64_t intel_entries(const Cpuid& cpuid) {
  std::int64_t most = 0;
  const std::uint32_t last = std::min(cpuid(kIntelTranslation, 0).eax, kMostSubleaves);
  for (std::uint32_t subleaf = 0; subleaf <= last; ++subleaf) {
    const CpuidAnswer tlb = cpuid(kIntelTranslation, subleaf);
    const std::uint32_t kind = tlb.edx & 0x1F;
    if ((kind != 1 && kind != 3 && kind != 4) || (tlb.ebx & 1) == 0) continue;
    most = std::max<std::int64_t>(most, static_cast<std::int64_t>(tlb.ebx >> 16) * tlb.ecx);
  }
  return most;
}

// Intel's older way: one byte a descriptor; those of second-level TLBs that hold 4 KiB pages.
std::int64_t intel_descriptor_entries(const Cpuid& cpuid) {
  constexpr std::array<std::pair<std::uint32_t, std::int64_t>, 4> kSecondLevel = {
      {{0xB4, 256}, {0xC1, 1024}, {0xC3, 1536}, {0xCA, 512}}};
  const CpuidAnswer answer = cpuid(kIntelDescriptors, 0);
  std::int64_t most = 0;
  for (const std::uint32_t word : {answer.eax & ~0xFFU, answer.ebx, answer.ecx, answer.edx}) {
    if ((word >> 31) != 0) continue;  // this register holds no descriptors
    for (int shift = 0; shift < 32; shift += 8) {
      const auto found =
          std::ranges::find(kSecondLevel, (word >> shift) & 0xFF, &std::pair<std::uint32_t, std::int64_t>::first);
      if (found != kSecondLevel.end()) most = std::max(most, found->second);
    }
  }
  return most;
}

CpuidAnswer ask_processor(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidAnswer answer;
#if defined(__x86_64__)
  if (__get_cpuid_count(leaf, subleaf, &answer.eax, &answer.ebx, &answer.ecx, &answer.edx) == 0) return {};
#else
  (void)leaf, (void)subleaf;
#endif
  return answer;
}

}  // namespace

TlbReach tlb_reach_from_cpuid(const Cpuid& cpuid) {
  const auto reach = [](std::int64_t entries, const char* source) {
    return TlbReach{entries, entries * kBlockAlignment, source};
  };
  if (const std::int64_t entries = amd_entries(cpuid); entries > 0) return reach(entries, "CPUID leaf 0x80000006");
  if (const std::int64_t entries = intel_entries(cpuid); entries > 0) return reach(entries, "CPUID leaf 0x18");
  if (const std::int64_t entries = intel_descriptor_entries(cpuid); entries > 0) return reach(entries, "CPUID leaf 2");
  return reach(kAssumedEntries, "assumed: this processor (or its virtual machine) does not tell its TLB's size");
}

std::string describe(const TlbReach& reach) {
  return fmt::format("TLB of {} entries a thread ({})", reach.entries, reach.source);
}

TlbReach machine_tlb_reach() { return tlb_reach_from_cpuid(ask_processor); }

}  // namespace sluice::memory

// How much memory the processor's translation look-aside buffer covers: the default size of the software TLB.
//
// The entries are those for 4 KiB pages in the last data TLB of one core. CPUID tells their number: AMD's leaf
// 0x80000006, Intel's 0x18 and, where that says nothing, the descriptors of leaf 2. Virtual machines may hide all of
// these (seen: zeros). Then 1536 entries are assumed, as server cores had from Skylake and Zen on, and `source` says
// so.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "sluice/base/units.hpp"

namespace sluice::memory {

struct TlbReach {
  std::int64_t entries = 0;
  Bytes bytes = 0;     // entries x 4 KiB
  std::string source;  // "CPUID leaf 0x18", "assumed: ..."
};

struct CpuidAnswer {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
// Answers to leaf and subleaf; zeros for a leaf that the processor does not know.
using Cpuid = std::function<CpuidAnswer(std::uint32_t leaf, std::uint32_t subleaf)>;

TlbReach machine_tlb_reach();                       // of this processor, one core
std::string describe(const TlbReach& reach);        // "TLB of 1536 entries a thread (CPUID leaf 0x18)"
TlbReach tlb_reach_from_cpuid(const Cpuid& cpuid);  // the same from anybody's answers

}  // namespace sluice::memory

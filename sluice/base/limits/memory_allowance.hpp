// How much memory this process may take before the kernel refuses it, or ends it: the least that the machine, the control
// group and `ulimit -v` allow. Asked before memory is planned for and before it is mapped, since nothing can be
// reported afterwards.
#pragma once

#include <optional>
#include <string>

#include "sluice/base/limits/control_group.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

// What the program itself takes beside the memory it plans: code, kernels' scratch, buffers. Set aside where a limit is of
// the whole process; a machine's memory is not divided so finely.
inline constexpr Bytes kOwnMemory = 96 * kMiB;
inline constexpr Bytes kOwnAddresses = 256 * kMiB;  // stacks and heaps of threads

struct MemoryFigures {
  Bytes machine = 0;  // RAM
  Bytes swap = 0;     // of the machine
  GroupLimits group;
  std::optional<Bytes> addresses;  // RLIMIT_AS
  Bytes addresses_taken = 0;
};

struct MemoryAllowance {
  Bytes bytes = 0;      // that tiers in this memory may have together
  Bytes with_swap = 0;  // beyond which the kernel ends programs
  std::string by;       // whose limit it is: "the control group, which allows 200.0 MiB"; empty: the machine's memory
};

MemoryAllowance allowance_of(const MemoryFigures& figures);

// Of this process, as it was when first asked.
const MemoryAllowance& memory_allowance();

// That this process may still map, by `ulimit -v`; more than there are where nothing limits them.
Bytes addresses_left();

}  // namespace sluice

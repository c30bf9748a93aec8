// Which processor of a machine: the graph and the machine both name them, and neither knows the other.
#pragma once

#include <cstdint>

namespace sluice {

using ProcessorId = std::int32_t;

inline constexpr ProcessorId kMainProcessor = 0;  // runs whatever nobody gives to another one

}  // namespace sluice

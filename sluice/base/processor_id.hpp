// Which processor of a machine: the graph and the machine both name them, and neither knows the other.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

using ProcessorId = std::int32_t;

inline constexpr ProcessorId kMainProcessor = 0;  // runs whatever nobody gives to another one

// Whose kernels a processor runs where nobody says otherwise (kernels/backend.hpp).
inline constexpr std::string_view kDefaultBackend = "onednn";

}  // namespace sluice

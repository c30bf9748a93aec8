// Quantities: what a number counts is in its type's name, and text forms are parsed and printed in one place. (Numbers that
// count nothing: parse.hpp.)
//
// Sizes use binary units in text (KiB, MiB, GiB; 512MiB = 536,870,912 bytes), bandwidths decimal ones (1GB/s = 1e9).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "sluice/base/result.hpp"

namespace sluice {

using Bytes = std::int64_t;
using Seconds = double;
using BytesPerSecond = double;

inline constexpr Bytes kKiB = Bytes{1} << 10;
inline constexpr Bytes kMiB = Bytes{1} << 20;
inline constexpr Bytes kGiB = Bytes{1} << 30;

// Rounds up / down to a multiple of `alignment` (> 0).
constexpr Bytes align_up(Bytes value, Bytes alignment) { return (value + alignment - 1) / alignment * alignment; }
constexpr Bytes align_down(Bytes value, Bytes alignment) { return value / alignment * alignment; }

// Whole bytes of a share of them, rounded down.
constexpr Bytes share_of(double share, Bytes bytes) { return static_cast<Bytes>(share * static_cast<double>(bytes)); }

// A budget as the user writes it: an absolute size, or a fraction of the arena bytes of the fast-only plan.
struct MemorySize {
  std::variant<Bytes, double> value;
  Bytes resolve(Bytes whole) const;
};

Result<Bytes> parse_bytes(std::string_view text);               // "4096", "512MiB", "2GiB"
Result<MemorySize> parse_memory_size(std::string_view text);    // the same, or "20%"
Result<BytesPerSecond> parse_bandwidth(std::string_view text);  // "1GB/s", "500MB/s"

std::string format_bytes(Bytes bytes);                   // "298.4 MiB"
std::string format_seconds(Seconds seconds);             // "12.3 ms"
std::string format_bandwidth(BytesPerSecond bandwidth);  // "2.41 GB/s"

}  // namespace sluice

#include "sluice/base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "sluice/base/parse.hpp"

namespace sluice {
namespace {

struct NumberAndUnit {
  double number;
  std::string_view unit;
};

std::optional<NumberAndUnit> split(std::string_view text) {
  const std::optional<double> number = take_number(text);
  if (!number) return std::nullopt;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  return NumberAndUnit{*number, text};
}

template <std::size_t N>
std::optional<double> scale_of(std::string_view unit, const std::array<std::pair<std::string_view, double>, N>& table) {
  for (const auto& [name, scale] : table) {
    if (name == unit) return scale;
  }
  return std::nullopt;
}

constexpr std::array<std::pair<std::string_view, double>, 6> kSizeUnits{
    {{"", 1.0}, {"B", 1.0}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}}};
constexpr std::array<std::pair<std::string_view, double>, 4> kBandwidthUnits{
    {{"B/s", 1.0}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}};

}  // namespace

Bytes MemorySize::resolve(Bytes whole) const {
  if (const Bytes* bytes = std::get_if<Bytes>(&value)) return *bytes;
  return share_of(std::get<double>(value), whole);
}

Result<Bytes> parse_bytes(std::string_view text) {
  const auto parts = split(text);
  const auto scale = parts ? scale_of(parts->unit, kSizeUnits) : std::nullopt;
  if (!scale || parts->number < 0 || parts->number * *scale > 9e18) {
    return Error{ErrorCode::kBadInput, fmt::format("'{}' is not a size; write bytes, or a number with KiB, MiB, GiB or "
                                                   "TiB, such as 512MiB",
                                                   text)};
  }
  return static_cast<Bytes>(parts->number * *scale);
}

Result<MemorySize> parse_memory_size(std::string_view text) {
  const auto parts = split(text);
  if (parts && parts->unit == "%") {
    if (parts->number <= 0 || parts->number > 10000) {
      return Error{ErrorCode::kBadInput,
                   fmt::format("'{}' is not a budget: a percentage must be above 0% and at most 10000%", text)};
    }
    return MemorySize{parts->number / 100.0};
  }
  SLUICE_ASSIGN(const Bytes bytes, parse_bytes(text));
  if (bytes == 0) return Error{ErrorCode::kBadInput, fmt::format("'{}' is not a budget: it must be above 0", text)};
  return MemorySize{bytes};
}

Result<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const auto parts = split(text);
  const auto scale = parts ? scale_of(parts->unit, kBandwidthUnits) : std::nullopt;
  if (!scale || parts->number <= 0) {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("'{}' is not a bandwidth; write a positive number with MB/s or GB/s, such as 1GB/s", text)};
  }
  return parts->number * *scale;
}

std::string format_bytes(Bytes bytes) {
  const double size = static_cast<double>(bytes);
  if (std::abs(size) >= 1024.0 * 1048576.0) return fmt::format("{:.2f} GiB", size / 1073741824.0);
  if (std::abs(size) >= 1048576.0) return fmt::format("{:.1f} MiB", size / 1048576.0);
  if (std::abs(size) >= 1024.0) return fmt::format("{:.1f} KiB", size / 1024.0);
  return fmt::format("{} B", bytes);
}

std::string format_seconds(Seconds seconds) {
  if (std::abs(seconds) >= 1.0) return fmt::format("{:.3f} s", seconds);
  if (std::abs(seconds) >= 1e-3) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string format_bandwidth(BytesPerSecond bandwidth) {
  if (bandwidth >= 1e9) return fmt::format("{:.2f} GB/s", bandwidth / 1e9);
  return fmt::format("{:.1f} MB/s", bandwidth / 1e6);
}

}  // namespace sluice

#include "sluice/base/parse.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

template <typename T, typename... Form>
std::errc take(std::string_view& text, T& value, Form... form) {
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value, form...);
  if (failure == std::errc{}) text.remove_prefix(as_index(rest - text.data()));
  return failure;
}

}  // namespace

Result<double> parse_number(std::string_view text) {
  std::string_view rest = text;
  const std::optional<double> value = take_number(rest);
  if (value && rest.empty()) return *value;
  return bad_input(fmt::format("'{}' is not a number", text));
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least, std::int64_t most) {
  std::string_view rest = text;
  std::int64_t value = 0;
  const std::errc failure = take(rest, value);
  if (failure == std::errc::result_out_of_range) return bad_input(fmt::format("'{}' is beyond 64 bits", text));
  if (failure != std::errc{} || !rest.empty()) return bad_input(fmt::format("'{}' is not a whole number", text));
  if (value < least) return bad_input(fmt::format("'{}' is below {}", text, least));
  if (value > most) return bad_input(fmt::format("'{}' is above {}", text, most));
  return value;
}

std::optional<double> take_number(std::string_view& text) {
  std::string_view rest = text;
  double value = 0;
  if (take(rest, value) != std::errc{} || !std::isfinite(value)) return std::nullopt;
  text = rest;
  return value;
}

std::optional<std::int64_t> take_integer(std::string_view& text, int base) {
  std::int64_t value = 0;
  if (take(text, value, base) != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace sluice

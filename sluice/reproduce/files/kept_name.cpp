#include "sluice/reproduce/files/kept_name.hpp"

#include <fmt/format.h>

namespace sluice {

Status check_kept_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const bool good = !name.empty() && name.front() != '.' && name.front() != '-' &&
                    name.find_first_not_of(kAllowed) == std::string_view::npos;
  if (good) return {};
  return bad_input(fmt::format("\"{}\" is no name of a kept result (letters, digits, _, - and .)", name));
}

}  // namespace sluice

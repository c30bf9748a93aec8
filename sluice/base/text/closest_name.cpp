#include "sluice/base/text/closest_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace sluice {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (same_letter(a[i], b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest_name(std::string_view name, const std::vector<std::string_view>& known) {
  std::string_view closest;
  std::size_t least = name.size() / 2 + 1;
  for (const std::string_view each : known) {
    const std::size_t distance = edit_distance(name, each);
    if (distance >= least) continue;
    closest = each;
    least = distance;
  }
  return closest;
}

std::string suggest_name(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view closest = closest_name(name, known);
  return closest.empty() ? "; known " : fmt::format("; did you mean '{}'? Known ", closest);
}

}  // namespace sluice

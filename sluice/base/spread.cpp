#include "sluice/base/spread.hpp"

#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = as_index(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  SLUICE_CHECK(!values.empty(), "a spread needs values");
  std::ranges::sort(values);
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75), values.front(), values.back()};
}

double quantile_of(std::vector<double> values, double share) {
  SLUICE_CHECK(!values.empty() && share >= 0 && share <= 1, "a quantile needs values, and a share of them");
  std::ranges::sort(values);
  return quantile(values, share);
}

}  // namespace sluice

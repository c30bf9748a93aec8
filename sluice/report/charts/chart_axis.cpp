#include "sluice/report/charts/chart_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sluice/base/units.hpp"

namespace sluice {
namespace {

constexpr double kMostTicks = 6;

std::pair<double, std::string> unit_of(double largest, Quantity quantity) {
  if (quantity != Quantity::kBytes || largest < kKiB) return {1, quantity == Quantity::kBytes ? "B" : ""};
  if (largest < kMiB) return {kKiB, "KiB"};
  if (largest < kGiB) return {kMiB, "MiB"};
  return {kGiB, "GiB"};
}

// The smallest round step of which at most kMostTicks reach `largest`.
double round_step(double largest) {
  const double least = largest / kMostTicks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string ChartAxis::tick(double value) const {
  const double shown = value / scale;
  const double shown_step = step / scale;
  int decimals = 0;
  while (decimals < 3 && std::abs(shown_step - std::round(shown_step * std::pow(10, decimals)) /
                                                   std::pow(10, decimals)) > shown_step * 1e-6) {
    ++decimals;
  }
  return fmt::format("{:.{}f}", shown, decimals);
}

ChartAxis round_axis(double largest, Quantity quantity) {
  ChartAxis axis;
  std::tie(axis.scale, axis.unit) = unit_of(largest, quantity);
  if (largest <= 0) return axis;
  const bool whole = quantity == Quantity::kCount || (quantity == Quantity::kBytes && axis.scale == 1);
  double step = round_step(largest / axis.scale);
  if (whole) step = std::max(1.0, std::ceil(step));
  axis.step = step * axis.scale;
  axis.end = std::ceil(largest / axis.step * (1 - 1e-9)) * axis.step;
  return axis;
}

std::string format_quantity(double value, Quantity quantity) {
  if (quantity == Quantity::kBytes) return format_bytes(static_cast<Bytes>(value));
  return fmt::format("{:.{}f}", value, quantity == Quantity::kRatio ? 2 : 0);
}

}  // namespace sluice

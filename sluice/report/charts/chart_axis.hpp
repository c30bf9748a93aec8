// The vertical axis of a chart: round ticks from 0 to just above the largest value, in a unit that keeps them short.
#pragma once

#include <string>

namespace sluice {

enum class Quantity { kCount, kBytes, kRatio };

struct ChartAxis {
  double end = 1;    // where the axis ends, a multiple of `step`, in the quantity's own unit
  double step = 1;   // between ticks: 1, 2, 2.5 or 5 times a power of ten (bytes: of the display unit)
  double scale = 1;  // values are divided by this to be shown
  std::string unit;  // "GiB"; empty for counts and ratios

  std::string tick(double value) const;  // "1.5"
};

// `largest` >= 0; three to six ticks above 0. Counts have whole steps.
ChartAxis round_axis(double largest, Quantity quantity);

// "1234", "12.3 MiB", "1.23": a value on its own.
std::string format_quantity(double value, Quantity quantity);

}  // namespace sluice

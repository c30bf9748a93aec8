// How repeated measurements are spread: the figures that tables show for several rounds.
#pragma once

#include <vector>

namespace sluice {

struct Spread {
  double median = 0;
  double q1 = 0, q3 = 0;  // quartiles: half of the values lie between them
  double min = 0, max = 0;
};

// Quantiles lie between the two nearest values, linearly (R's type 7). `values` must not be empty.
Spread spread_of(std::vector<double> values);
double quantile_of(std::vector<double> values, double share);  // 0.9: nine of ten values are at most that

}  // namespace sluice

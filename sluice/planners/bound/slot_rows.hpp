// What linear programs over the slots of a step share: units, sums of terms, and prices from the duals of their rows.
#pragma once

#include <vector>

#include "sluice/plan/prices.hpp"
#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice::planners {

// Programs count bytes in MiB, and time in a unit of their own, so that coefficients are near 1.
inline constexpr double kByteUnit = kMiB;
inline constexpr Bytes kLeastMoving = 16 * kKiB;  // smaller tensors stay in fast memory

constexpr double in_units(Bytes bytes) { return static_cast<double>(bytes) / kByteUnit; }

// Adds `sign` times what `more` sums up, each column once.
void append_terms(std::vector<Term>& terms, const std::vector<Term>& more, double sign);

struct SlotRows {
  std::vector<int> room;   // by op or epoch
  std::vector<int> run;    // likewise: the first of a pair, one for each facet of the link
  std::vector<int> stall;  // by slot between them: likewise
};

// Everything costs what it costs in a stall: what there is where a program has no answer.
plan::StepPrices free_prices(std::size_t runs);

// `found`: LpSolution::row_prices of a program in which a second of stall costs one, in units of `time_unit` seconds.
plan::StepPrices prices_of(const SlotRows& rows, const std::vector<double>& found, Seconds time_unit);

}  // namespace sluice::planners

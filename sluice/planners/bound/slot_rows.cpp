#include "sluice/planners/bound/slot_rows.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

// Rounding may have made a little too much of the two.
plan::SlotPrice slot_price(double first, double second) {
  const double scale = std::max(1.0, first + second);
  return {first / scale, std::min(second / scale, 1 - first / scale)};
}

}  // namespace

void append_terms(std::vector<Term>& terms, const std::vector<Term>& more, double sign) {
  for (const Term& each : more) {
    const auto same = std::ranges::find(terms, each.column, &Term::column);
    if (same == terms.end()) {
      terms.push_back({each.column, sign * each.coefficient});
    } else {
      same->coefficient += sign * each.coefficient;
    }
  }
}

plan::StepPrices free_prices(std::size_t runs) {
  return {std::vector<double>(runs, 0), std::vector<plan::SlotPrice>(runs, plan::SlotPrice{0, 0}),
          std::vector<plan::SlotPrice>(runs + 1, plan::SlotPrice{1, 0})};
}

plan::StepPrices prices_of(const SlotRows& rows, const std::vector<double>& found, Seconds time_unit) {
  plan::StepPrices prices;
  const auto price = [&](int row) { return std::max(0.0, -found[as_index(row)]); };
  for (const int row : rows.room) prices.room.push_back(price(row) * time_unit / kByteUnit);
  for (const int row : rows.run) prices.run.push_back(slot_price(price(row), price(row + 1)));
  for (const int row : rows.stall) {
    const plan::SlotPrice stall = slot_price(price(row), price(row + 1));
    prices.stall.push_back({1 - stall[1], stall[1]});  // a second of stall costs a second
  }
  return prices;
}

}  // namespace sluice::planners

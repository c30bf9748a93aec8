#include "sluice/experiment/sweep_prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/parse.hpp"

namespace sluice::experiment {
namespace {

// The number behind "NAME=", which is followed by a comma or the end.
std::optional<double> price_named(std::string_view text, std::string_view name) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view entry = text.substr(begin, end - begin);
    begin = end + 1;
    if (!entry.starts_with(name) || entry.size() <= name.size() || entry[name.size()] != '=') continue;
    const Result<double> price = parse_number(entry.substr(name.size() + 1));
    return price.ok() && *price > 0 ? std::optional(*price) : std::nullopt;
  }
  return std::nullopt;
}

double slowdown_of(const SweepPoint& point) { return point.measured ? point.measured->slowdown : point.slowdown; }

}  // namespace

Result<MemoryPrices> parse_memory_prices(const std::string& text) {
  const std::optional<double> fast = price_named(text, "fast");
  const std::optional<double> slow = price_named(text, "slow");
  if (fast && slow && std::ranges::count(text, ',') == 1) return MemoryPrices{*fast, *slow};
  return Error{ErrorCode::kBadInput,
               fmt::format("--price {}: write what a GB of fast and of slow memory costs, both above 0: "
                           "--price fast=16.61,slow=7.85",
                           text)};
}

std::optional<PricedPoint> price_of(const SweptModel& swept, const SweepPoint& point, const MemoryPrices& prices) {
  if (!point.feasible() || !point.slow_bytes) return std::nullopt;
  const double everything = prices.fast * static_cast<double>(swept.whole);
  const double paid =
      prices.fast * static_cast<double>(point.planned_for) + prices.slow * static_cast<double>(*point.slow_bytes);
  const PricedPoint priced{.cost = paid / everything, .performance = 1 / slowdown_of(point)};
  return std::isnormal(priced.per_cost()) ? std::optional(priced) : std::nullopt;
}

const SweepPoint* cheapest_within(const SweptModel& swept, std::string_view planner, const MemoryPrices& prices,
                                  double loss) {
  const SweepPoint* cheapest = nullptr;
  double least = 0;
  for (const SweepPoint& point : swept.points) {
    const std::optional<PricedPoint> priced = price_of(swept, point, prices);
    if (point.planner != planner || !priced || slowdown_of(point) > 1 + loss) continue;
    if (cheapest != nullptr && priced->cost >= least) continue;
    cheapest = &point;
    least = priced->cost;
  }
  return cheapest;
}

}  // namespace sluice::experiment

#include "sluice/planners/search_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {

SearchRound round_of(const std::vector<Seconds>& steps) {
  if (steps.empty()) return {};
  const auto [best, worst] = std::ranges::minmax_element(steps);
  const Seconds sum = std::accumulate(steps.begin(), steps.end(), Seconds{0});
  return {
      .feasible = count_of(steps), .worst = *worst, .average = sum / static_cast<double>(steps.size()), .best = *best};
}

void note_rounds(plan::Plan& plan, const std::vector<SearchRound>& rounds, std::string_view name) {
  for (std::size_t i = 0; i < rounds.size(); i = 2 * i + 1) {
    const SearchRound& each = rounds[i];
    plan.planner_config.emplace_back(fmt::format("{}_{}", name, i + 1),
                                     each.feasible == 0
                                         ? "none has room"
                                         : fmt::format("worst {:.6f}, average {:.6f}, best {:.6f}, {} with room",
                                                       each.worst, each.average, each.best, each.feasible));
  }
}

}  // namespace sluice::planners

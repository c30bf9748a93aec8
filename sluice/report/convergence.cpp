#include "sluice/report/convergence.hpp"

#include <nlohmann/json.hpp>

namespace sluice::report {

nlohmann::json convergence_json(const std::vector<planners::SearchRound>& rounds) {
  nlohmann::json list = nlohmann::json::array();
  for (const planners::SearchRound& each : rounds) {
    const auto ms = [&](Seconds step) { return each.feasible > 0 ? nlohmann::json(step * 1e3) : nlohmann::json(); };
    list.push_back({{"feasible", each.feasible},
                    {"worst_ms", ms(each.worst)},
                    {"average_ms", ms(each.average)},
                    {"best_ms", ms(each.best)}});
  }
  return list;
}

}  // namespace sluice::report

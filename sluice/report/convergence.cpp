#include "sluice/report/convergence.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

struct Curve {
  const char* name;
  Seconds SearchRound::*seconds;
};
constexpr std::array kCurves{Curve{"worst", &SearchRound::worst}, Curve{"average", &SearchRound::average},
                             Curve{"best", &SearchRound::best}};

}  // namespace

nlohmann::json convergence_json(const std::vector<SearchRound>& rounds) {
  nlohmann::json list = nlohmann::json::array();
  for (const SearchRound& each : rounds) {
    nlohmann::json round{{"feasible", each.feasible}};
    for (const Curve& curve : kCurves) {
      nlohmann::json& value = round[fmt::format("{}_ms", curve.name)];
      if (each.feasible > 0) value = each.*curve.seconds * 1e3;
    }
    list.push_back(std::move(round));
  }
  return list;
}

}  // namespace sluice

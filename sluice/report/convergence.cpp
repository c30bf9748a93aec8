#include "sluice/report/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sluice/report/charts/line_chart.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMostPoints = 60;  // of a curve: more would run into each other

struct Curve {
  const char* name;
  std::size_t colour;
  Seconds SearchRound::*seconds;
};
constexpr std::array kCurves{Curve{"worst", 1, &SearchRound::worst}, Curve{"average", 2, &SearchRound::average},
                             Curve{"best", 0, &SearchRound::best}};

// Every n-th round, and the last one.
std::vector<std::size_t> drawn_rounds(std::size_t count, std::size_t every) {
  std::vector<std::size_t> rounds;
  for (std::size_t i = 0; i < count; i += every) rounds.push_back(i);
  if (rounds.back() + 1 != count) rounds.push_back(count - 1);
  return rounds;
}

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

std::string convergence_picture(const std::vector<SearchRound>& rounds, std::string_view planner,
                                std::string_view subtitle) {
  if (std::ranges::none_of(rounds, [](const SearchRound& each) { return each.feasible > 0; })) return "";
  const std::size_t every = (rounds.size() + kMostPoints - 1) / kMostPoints;
  LinePanel panel{.y_label = "step as the search estimates it, ms"};
  if (every > 1) panel.note = fmt::format("one round in {} is drawn, and the last", every);
  for (const Curve& curve : kCurves) {
    LineSeries series{.name = curve.name, .colour = curve.colour};
    for (const std::size_t i : drawn_rounds(rounds.size(), every)) {
      if (rounds[i].feasible == 0) continue;
      const double milliseconds = rounds[i].*curve.seconds * 1e3;
      series.points.push_back(
          {static_cast<double>(i + 1), milliseconds,
           fmt::format("round {}: {} {:.3f} ms, {} with room", i + 1, curve.name, milliseconds, rounds[i].feasible)});
    }
    panel.series.push_back(std::move(series));
  }
  return draw_lines(
      {fmt::format("How the search of {} converged", planner), std::string(subtitle), "round of the search", {panel}});
}

}  // namespace sluice

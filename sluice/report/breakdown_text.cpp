#include "sluice/report/breakdown_text.hpp"

#include <fmt/format.h>

#include <array>

#include "sluice/report/text_table.hpp"

namespace sluice::report {
namespace {

struct PartColumn {
  const char* title;
  Seconds sim::TimeBreakdown::*seconds;
};

// Those that add up to the step, as they are stacked.
constexpr std::array<PartColumn, 5> kStacked{{{"computation", &sim::TimeBreakdown::computation},
                                              {"recomputation", &sim::TimeBreakdown::recomputation},
                                              {"exposed transfer", &sim::TimeBreakdown::exposed_transfer},
                                              {"processor wait", &sim::TimeBreakdown::processor_wait},
                                              {"other", &sim::TimeBreakdown::other}}};

std::string milliseconds(Seconds seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

}  // namespace

std::string breakdown_table(const std::vector<NamedBreakdown>& steps) {
  std::vector<TableColumn> columns{{"ms", Align::kLeft, 0}, {"step", Align::kRight, 0}};
  for (const PartColumn& part : kStacked) columns.push_back({part.title, Align::kRight, 0});
  columns.push_back({"overlapped transfer", Align::kRight, 0});
  TextTable table(columns);
  for (const NamedBreakdown& step : steps) {
    std::vector<std::string> cells{step.name, milliseconds(step.parts.step())};
    for (const PartColumn& part : kStacked) cells.push_back(milliseconds(step.parts.*part.seconds));
    cells.push_back(milliseconds(step.parts.overlapped_transfer));
    table.add_row(cells);
  }
  return table.text();
}

}  // namespace sluice::report

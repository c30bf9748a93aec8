#include "benchmarks/papers/autotm_figure_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/report/sweep/sweep_json.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::autotm {
namespace {

using nlohmann::json;

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }
std::string mebibytes(Bytes bytes) { return fmt::format("{:.0f}", static_cast<double>(bytes) / kMiB); }
std::string milliseconds(Seconds seconds) { return fmt::format("{:.2f}", 1e3 * seconds); }

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

Coverage total(const FiguredModel& model) {
  Coverage sum;
  for (const auto& [kind, each] : model.coverage) sum += each;
  return sum;
}

std::vector<std::string> coverage_cells(std::string name, const Coverage& of) {
  return {std::move(name),
          fmt::format("{}", of.ops),
          fmt::format("{}", of.unmatched_ops),
          milliseconds(of.seconds),
          milliseconds(of.scaled_seconds),
          milliseconds(of.guessed_seconds),
          percent(share_of(of.published_placements, of.placements))};
}

std::vector<std::string> planners_of(const FiguredModel& model) {
  std::vector<std::string> planners;
  for (const SweepPoint& each : model.swept.points) {
    if (std::ranges::find(planners, each.planner) == planners.end()) planners.push_back(each.planner);
  }
  return planners;
}

// Of each planner the first one, which says the most.
std::string failures(const FiguredModel& model) {
  std::string text;
  std::vector<std::string> said;
  for (const SweepPoint& each : model.swept.points) {
    if (each.feasible() || std::ranges::find(said, each.planner) != said.end()) continue;
    said.push_back(each.planner);
    text += format_item(each.failure);
  }
  return text;
}

// Kinds of which no op has a kernel, where they take time: the networks of the kernels had none.
std::string lacking(const FiguredModel& model, Seconds all) {
  constexpr double kWorthSaying = 0.01;
  std::string text;
  for (const auto& [kind, each] : model.coverage) {
    if (each.unmatched_ops < each.ops || each.seconds < kWorthSaying * all) continue;
    text += fmt::format(
        "none of its {} ops {} has a kernel of its shapes: the network that was timed seems to have had none\n",
        each.ops, to_string(kind));
  }
  return text;
}

json coverage_json(const Coverage& of) {
  return {{"ops", of.unmatched_ops},
          {"of_ops", of.ops},
          {"share_of_ops", share_of(of.unmatched_ops, of.ops)},
          {"share_of_time", share_of(of.unmatched_seconds(), of.seconds)},
          {"scaled_seconds", of.scaled_seconds},
          {"guessed_seconds", of.guessed_seconds},
          {"published_placements", share_of(of.published_placements, of.placements)}};
}

json model_json(const FiguredModel& model) {
  json document = sweep_json({&model.swept, 1}).front();
  document["only_pmm_slowdown"] = model.only_pmm;
  document["largest_convolution_share"] = model.largest_convolution;
  document["unmatched"] = coverage_json(total(model));
  document["ratios"] = json::array();
  for (const Ratio& ratio : model.ratios) document["ratios"].push_back(ratio.text());
  document["kinds"] = json::object();
  for (const auto& [kind, each] : model.coverage) document["kinds"][std::string(to_string(kind))] = coverage_json(each);
  return document;
}

}  // namespace

std::string describe_coverage(const FiguredModel& model) {
  TextTable table({{"op", Align::kLeft, 0},
                   {"ops", Align::kRight, 0},
                   {"unmatched", Align::kRight, 0},
                   {"ms in DRAM", Align::kRight, 0},
                   {"scaled ms", Align::kRight, 0},
                   {"guessed ms", Align::kRight, 0},
                   {"placements published", Align::kRight, 0}});
  for (const auto& [kind, each] : model.coverage) table.add_row(coverage_cells(std::string(to_string(kind)), each));
  const Coverage sum = total(model);
  table.add_row(coverage_cells("all", sum));
  return fmt::format("{}unmatched: {} of {} ops ({}), {} of the time with everything in DRAM\n{}", table.text(),
                     sum.unmatched_ops, sum.ops, percent(share_of(sum.unmatched_ops, sum.ops)),
                     percent(share_of(sum.unmatched_seconds(), sum.seconds)), lacking(model, sum.seconds));
}

std::string describe_slowdowns(const FiguredModel& model) {
  std::vector<TableColumn> columns{
      {"PMM:DRAM", Align::kLeft, 0}, {"DRAM", Align::kRight, 0}, {"MiB", Align::kRight, 0}};
  const std::vector<std::string> planners = planners_of(model);
  for (const std::string& planner : planners) columns.push_back({planner, Align::kRight, 0});
  TextTable table(std::move(columns));
  std::vector<std::string> only_pmm{"only PMM", percent(0), "0"};
  only_pmm.resize(only_pmm.size() + planners.size(), fmt::format("{:.3f}x", model.only_pmm));
  table.add_row(std::move(only_pmm));
  for (const Ratio& ratio : model.ratios) {
    std::vector<std::string> cells{
        ratio.text(), percent(ratio.share()),
        mebibytes(static_cast<Bytes>(ratio.share() * static_cast<double>(model.swept.whole)))};
    for (const std::string& planner : planners) {
      const SweepPoint* const point = model.at(planner, ratio);
      cells.push_back(point == nullptr ? "infeasible" : fmt::format("{:.3f}x", point->slowdown));
    }
    table.add_row(std::move(cells));
  }
  return table.text() + failures(model);
}

std::string describe_operands(const FiguredModel& model) {
  TextTable table({{"planner", Align::kLeft, 0},
                   {"PMM:DRAM", Align::kLeft, 0},
                   {"inputs in DRAM", Align::kRight, 0},
                   {"outputs in DRAM", Align::kRight, 0},
                   {"to DRAM MiB", Align::kRight, 0},
                   {"to PMM MiB", Align::kRight, 0},
                   {"stall ms", Align::kRight, 0}});
  for (const std::string& planner : planners_of(model)) {
    for (const Ratio& ratio : model.ratios) {
      const SweepPoint* const point = model.at(planner, ratio);
      if (point == nullptr || !point->fast_operands) continue;
      table.add_row({planner, ratio.text(), percent(point->fast_operands->inputs),
                     percent(point->fast_operands->outputs), mebibytes(point->bytes_in), mebibytes(point->bytes_out),
                     milliseconds(point->stall_seconds)});
    }
  }
  return table.text();
}

std::string describe_figure_claims(std::span<const FiguredModel> models) {
  std::string text;
  for (const FigureClaim& claim : figure_claims(models)) {
    const std::string_view verdict = !claim.agrees   ? ""
                                     : *claim.agrees ? " The trend agrees."
                                                     : " The trend does not agree.";
    text += format_item(fmt::format("{} ({}). Here: {}.{}", claim.published, claim.source, claim.here, verdict));
  }
  return text;
}

json figures_json(std::span<const FiguredModel> models) {
  json list = json::array(), claims = json::array();
  for (const FiguredModel& model : models) list.push_back(model_json(model));
  for (const FigureClaim& claim : figure_claims(models)) {
    json object{{"published", claim.published}, {"source", claim.source}, {"here", claim.here}};
    if (claim.agrees) object["agrees"] = *claim.agrees;
    claims.push_back(std::move(object));
  }
  return {{"models", list}, {"claims", claims}};
}

}  // namespace sluice::autotm

#include "sluice/report/characterization_charts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/report/characterization_text.hpp"
#include "sluice/report/charts/svg_chart.hpp"

namespace sluice {
namespace {

double chart_number(std::int64_t number) { return static_cast<double>(number); }

std::vector<double> chart_number(const std::vector<Bytes>& bytes) { return {bytes.begin(), bytes.end()}; }

NamedPicture draw_lifetimes(const Characterization& found, const std::string& subject, Quantity quantity) {
  const bool count = quantity == Quantity::kCount;
  BarChart chart{
      .text = {count ? "Tensors by lifetime" : "Bytes of tensors by lifetime",
               fmt::format("{}; the step has {} layers, persistent tensors outlive it", subject, found.layers),
               "layers that a tensor lives", count ? "tensors" : "bytes of tensors"},
      .quantity = quantity,
      .series = {{"small (below 4 KiB)", {}}, {"large", {}}}};
  for (const Lifetimes::Row& row : found.lifetimes.rows) {
    chart.categories.push_back(row.bucket.name);
    const BySize& tensors = row.tensors;
    chart.series[0].values.push_back(chart_number(count ? tensors.small.tensors : tensors.small.bytes));
    chart.series[1].values.push_back(chart_number(count ? tensors.large.tensors : tensors.large.bytes));
  }
  return {count ? "lifetimes.svg" : "lifetime_bytes.svg", draw_bars(chart)};
}

NamedPicture draw_distances(const Characterization& found, const std::string& subject) {
  const bool counted = found.heat.has_value();
  BarChart chart{
      .text = {counted ? "Accesses by layer distance" : "Uses by layer distance", subject,
               "layers from the use before to this use", counted ? "page accesses" : "uses of a tensor by an op"},
      .series = {{counted ? "accesses" : "uses", {}}}};
  const auto add = [&](const Distances::Row& row) {
    chart.categories.push_back(row.bucket.name);
    chart.series[0].values.push_back(chart_number(counted ? row.accesses : row.uses));
  };
  std::ranges::for_each(found.distances.rows, add);
  add(found.distances.first_uses);
  return {"distances.svg", draw_bars(chart)};
}

NamedPicture draw_heat(const HotAndCold& heat, const std::string& subject) {
  BarChart chart{.text = {"Hot and cold tensors", subject, "accesses of a tensor's average page", "bytes of tensors"},
                 .quantity = Quantity::kBytes,
                 .series = {{"all tensors of the step", {}}, {"live at once, at most", {}}},
                 .stacked = false};
  for (std::size_t i = 0; i < kHeats; ++i) {
    chart.categories.emplace_back(to_string(static_cast<Heat>(i)));
    chart.series[0].values.push_back(chart_number(heat.rows[i].tensors.bytes));
    chart.series[1].values.push_back(chart_number(heat.rows[i].peak));
  }
  return {"hot_and_cold.svg", draw_bars(chart)};
}

NamedPicture draw_false_sharing(const FalseSharing& sharing, const std::string& subject) {
  BarChart chart{
      .text = {"Where tensors of each heat lie", subject + "; tensors where a framework's allocator puts them",
               "accesses of a tensor's average page", "bytes of tensors"},
      .quantity = Quantity::kBytes,
      .series = {{"on pages with < 10 accesses", {}}, {"with 10-100", {}}, {"with > 100", {}}}};
  for (std::size_t i = 0; i < kHeats; ++i) {
    chart.categories.emplace_back(to_string(static_cast<Heat>(i)));
    for (std::size_t page = 0; page < kHeats; ++page) {
      chart.series[page].values.push_back(chart_number(sharing.bytes_of[i][page]));
    }
  }
  return {"false_sharing.svg", draw_bars(chart)};
}

NamedPicture draw_live_bytes(const Graph& graph, const Liveness& liveness, const Characterization& found,
                             const std::string& subject) {
  const LiveBytes& live = found.live;
  StepCurve curve{.text = {"Live bytes over the step", subject, "ops of the step, in order", "live bytes"},
                  .series = {{"persistent", chart_number(live.persistent)},
                             {"other long-lived", chart_number(live.long_lived)},
                             {"short-lived", chart_number(live.short_lived)}}};
  const auto backward = std::ranges::find_if(liveness.spans, &LayerSpan::backward);
  if (backward != liveness.spans.end()) curve.marks.push_back({chart_number(backward->ops.begin), "backward begins"});
  curve.marks.push_back(
      {chart_number(live.peak_op), fmt::format("peak {}: {}", format_bytes(live.peak), graph.op(live.peak_op).name)});
  curve.levels.push_back({chart_number(found.bound.bytes()),
                          fmt::format("lower bound on fast memory, {}", format_bytes(found.bound.bytes()))});
  return {"live_bytes.svg", draw_curve(curve)};
}

}  // namespace

std::vector<NamedPicture> draw_characterization(const Graph& graph, const Liveness& liveness,
                                                const Characterization& found, const std::string& subject) {
  std::vector<NamedPicture> pictures{draw_lifetimes(found, subject, Quantity::kCount),
                                     draw_lifetimes(found, subject, Quantity::kBytes), draw_distances(found, subject),
                                     draw_live_bytes(graph, liveness, found, subject)};
  if (found.heat) pictures.push_back(draw_heat(*found.heat, subject));
  if (found.false_sharing) pictures.push_back(draw_false_sharing(*found.false_sharing, subject));
  return pictures;
}

}  // namespace sluice

#include "sluice/planners/schedule/keep_what_fits.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/graph/value_numbers.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {
namespace {

// An op that may be left out, and what running it spares.
struct LeftOut {
  graph::OpIndex op = 0;
  double seconds_per_byte = 0;
};

std::vector<LeftOut> worth_leaving_out(const graph::Graph& graph, const profile::Profile& profile,
                                       std::span<const graph::OpChoice> choices) {
  std::vector<LeftOut> found;
  for (const auto& [op, of] : graph::repetitions(graph)) {
    if (!choices.empty() && choices[as_index(op)] != choices[as_index(of)]) continue;
    Bytes kept = 0;
    for (const graph::TensorId id : graph.op(op).outputs) {
      if (graph.tensor(id).role != graph::Role::kWorkspace) kept += graph.tensor(id).bytes;
    }
    const Seconds seconds = profile.op_seconds.empty() ? 0 : profile.op_seconds[as_index(op)];
    found.push_back({op, seconds / static_cast<double>(std::max<Bytes>(kept, 1))});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &LeftOut::seconds_per_byte);
  return found;
}

std::vector<graph::OpIndex> without(const graph::Graph& graph, std::span<const LeftOut> left_out) {
  std::vector<bool> runs(graph.ops().size(), true);
  for (const LeftOut& each : left_out) runs[as_index(each.op)] = false;
  std::vector<graph::OpIndex> schedule;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    if (runs[as_index(index)]) schedule.push_back(index);
  }
  return schedule;
}

}  // namespace

std::vector<graph::OpIndex> keep_what_fits(const graph::Graph& graph, const profile::Profile& profile, Bytes fast,
                                           std::span<const graph::OpChoice> choices) {
  const std::vector<LeftOut> all = worth_leaving_out(graph, profile, choices);
  const auto fits = [&](std::size_t count) {
    const std::vector<graph::OpIndex> schedule = without(graph, std::span(all).first(count));
    return fast_only_bytes(graph::chosen_step(graph, schedule, choices).graph) <= fast;
  };
  if (all.empty() || !fits(0)) return {};
  if (fits(all.size())) return without(graph, all);
  std::size_t most = 0;
  for (std::size_t beyond = all.size(); beyond - most > 1;) {
    const std::size_t count = most + (beyond - most) / 2;
    (fits(count) ? most : beyond) = count;
  }
  return most == 0 ? std::vector<graph::OpIndex>() : without(graph, std::span(all).first(most));
}

}  // namespace sluice::planners

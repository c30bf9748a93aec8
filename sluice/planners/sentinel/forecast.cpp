#include "sluice/planners/sentinel/forecast.hpp"

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

// By TransferIndex: when the stretch of back-to-back transfers began that the transfer is part of.
std::vector<Seconds> busy_since(const std::vector<program::TransferIndex>& lane, const program::StepTimes& timeline) {
  constexpr Seconds kBackToBack = 1e-4;
  std::vector<Seconds> since(timeline.transfers.size(), 0);
  Seconds begin = 0;
  Seconds end = -1;
  for (const program::TransferIndex transfer : lane) {
    const program::Span& span = timeline.transfers[as_index(transfer)];
    if (span.begin > end + kBackToBack) begin = span.begin;
    end = span.end;
    since[as_index(transfer)] = begin;
  }
  return since;
}

std::optional<program::TransferIndex> last_awaited(const program::ComputeInstruction& instruction,
                                                   const program::StepTimes& timeline) {
  const auto ends_sooner = [&](program::TransferIndex a, program::TransferIndex b) {
    return timeline.transfers[as_index(a)].end < timeline.transfers[as_index(b)].end;
  };
  const auto last = std::max_element(instruction.waits.begin(), instruction.waits.end(), ends_sooner);
  if (last == instruction.waits.end()) return std::nullopt;
  return *last;
}

// The price of a link's time at each op: what a stall costs is spread over the ops during which the link was busy
// without a pause before it, since a byte less in any of them would have ended the wait sooner.
void learn_price(std::vector<double>& price, const program::Program& program, const program::StepTimes& timeline,
                 memory::LinkId link) {
  constexpr double kMemory = 0.5;  // of the old price
  constexpr double kFloor = 0.02;  // an idle lane's time is cheap, not free
  std::vector<double> seen(price.size(), kFloor);
  const std::vector<Seconds> since = busy_since(program.lanes[as_index(link)], timeline);
  for (const program::ComputeInstruction& instruction : program.compute) {
    const Seconds stall = timeline.stalls[as_index(instruction.op)];
    const auto awaited = last_awaited(instruction, timeline);
    if (stall <= 0 || !awaited || program.transfers[as_index(*awaited)].link != link) continue;
    const program::Span period{since[as_index(*awaited)], timeline.transfers[as_index(*awaited)].end};
    const auto ends_before = [](const program::Span& span, Seconds time) { return span.end < time; };
    const auto first = std::lower_bound(timeline.ops.begin(), timeline.ops.end(), period.begin - 1e-6, ends_before);
    for (auto op = first; op != timeline.ops.end() && op->end <= period.end; ++op) {
      seen[as_index(op - timeline.ops.begin())] += stall / (period.end - period.begin);
    }
  }
  for (std::size_t op = 0; op < price.size(); ++op) price[op] = kMemory * price[op] + (1 - kMemory) * seen[op];
}

}  // namespace

Forecast forecast_compute(const graph::Graph& graph, const profile::CostModel& costs) {
  Forecast forecast{.start = {0.0}, .prices = {}};
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    forecast.start.push_back(forecast.start.back() + costs.op_seconds(op));
  }
  return forecast;
}

void learn_forecast(Forecast& forecast, const program::Program& program, const program::StepTimes& timeline) {
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) forecast.start[op] = timeline.ops[op].begin;
  forecast.start.back() = timeline.step_seconds;
  forecast.prices.resize(program.lanes.size(), std::vector<double>(timeline.ops.size(), 1.0));
  for (std::size_t link = 0; link < program.lanes.size(); ++link) {
    learn_price(forecast.prices[link], program, timeline, as_id<memory::LinkId>(link));
  }
}

}  // namespace sluice::planners

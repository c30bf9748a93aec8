// What the scheduler believes about the timing of a step before it plans it: when ops start, and how much a second of
// each transfer lane is worth at that time.
//
// A first plan assumes that ops never wait and that all lane time is worth the same. Simulating it shows when ops
// really start, and which stretches of which lane made them wait; planning again with that knowledge keeps those
// tensors in the fast tier whose copies would run in the busy stretches. (The paper plans once, from the profile.)
#pragma once

#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::planners {

struct Forecast {
  std::vector<Seconds> start;  // when each op starts, by OpIndex, and when the step ends (one more entry)
  // By LinkId, then OpIndex: seconds of stall that a second of the lane's time costs there. Nothing learned yet: empty.
  std::vector<std::vector<double>> prices;

  double price(memory::LinkId link, graph::OpIndex op) const {
    return prices.empty() ? 1.0 : prices[as_index(link)][as_index(op)];
  }
};

// Op after op without waiting, and equal prices everywhere.
Forecast forecast_compute(const graph::Graph& graph, const profile::CostModel& costs);

// Takes start times from the timeline and moves the prices half-way to what it shows: a stall is blamed on the whole
// busy period of the lane up to the transfer that the op waited for, so every op in that period gets stall / period.
// O(ops x stalls).
void learn_forecast(Forecast& forecast, const program::Program& program, const program::StepTimes& timeline);

}  // namespace sluice::planners

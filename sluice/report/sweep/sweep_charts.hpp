// A sweep over fast budgets as pictures. Each is "" when there is nothing to draw, and says what is simulated and, with
// `emulated`, that the machine is.
#pragma once

#include <span>
#include <string>

#include "sluice/experiment/sweep_result.hpp"

namespace sluice {

// Loss over budget, with one curve per model and planner (Sentinel's figure 10); beside it, where memory has prices,
// performance per price (AutoTM's figure 9). For a sweep that looks for budgets without loss: that budget beside the
// bytes of everything, for each model (Sentinel's and ReDL's figures 11).
std::string draw_sweep(std::span<const SweptModel> models, bool emulated);

// Over budget, how much of what ops read and write lies in fast memory, and how much is moved (AutoTM's figures 10b and
// 10c).
std::string draw_sweep_traffic(std::span<const SweptModel> models, bool emulated);

}  // namespace sluice

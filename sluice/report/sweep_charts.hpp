// A sweep over fast budgets as a picture.
#pragma once

#include <span>
#include <string>

#include "sluice/experiment/sweep_result.hpp"

namespace sluice {

// Loss over budget, with one curve per model and planner (Sentinel's figure 10). For a sweep that looks for budgets
// without loss: that budget beside the bytes of everything, for each model (Sentinel's and ReDL's figures 11). "" when
// there is nothing to draw. `emulated`: whether the machine is, to be said in the picture.
std::string draw_sweep(std::span<const SweptModel> models, bool emulated);

}  // namespace sluice

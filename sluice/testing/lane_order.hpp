// Whether a step, predicted or measured, kept program.hpp's rules about lanes.
#pragma once

#include <optional>
#include <string>

#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::testing {

// The first transfer of a lane that began before the one ahead of it had ended, or before what it waits for had; or an
// op that began before a transfer it waits for had ended. Nothing when all kept their turn.
std::optional<std::string> find_out_of_turn(const program::Program& program, const program::StepTimes& step);

}  // namespace sluice::testing

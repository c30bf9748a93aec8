// Runs that fit, by forgetting one value after the other: ours, for the integer program to start from, which finds its
// first answers late by itself.
//
// A value can be forgotten over its longest gap, between two nodes that read it one after the other. Who misses it makes
// it again, in that stage, and what that misses as well; then it stays, or it is forgotten anew after each such stage
// until its gap ends (twice forgotten). Forgotten is, again and again, what takes away most of the memory over the
// capacity for the time that it costs. When everything fits, what was forgotten is remembered where there is room, the
// dearest first.
//
//   over capacity, summed over runs     time            ratio
//   forget a        -300                +2 ms           150   <- first
//   forget b        -100                +1 ms           100
//
// Cost: a simulated step for each value that can be forgotten, times the values that are: a few tenths of a second for 80
// nodes.
#pragma once

#include <optional>

#include "sluice/planners/checkmate/remat_problem.hpp"

namespace sluice::planners {

// `trade`: the exponent of the memory that is saved; above 1 large values go first. Nothing where no further value helps
// and there is still too much.
std::optional<RematRuns> search_remat_runs(const RematProblem& problem, double trade);

}  // namespace sluice::planners

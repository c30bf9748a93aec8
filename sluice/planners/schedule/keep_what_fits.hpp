// Keeping what fits instead of making it again.
//
// A training graph makes cheap activations again in the backward pass (graph/autodiff/rematerialize.hpp), which pays where
// memory is short. Where everything fits with room to spare, the ops that make them again are left out of the schedule
// (graph/reschedule.hpp), those first that take the most time for each byte that is then kept.
#pragma once

#include <span>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::planners {

// The graph's order without the ops that need not run when everything may take `fast` bytes of fast memory. Empty: all
// run, as they do where even that takes more. `choices` by op, or none: an op that is to run otherwise than the one
// that it repeats runs, because it may round differently. About ten packings of the step.
std::vector<graph::OpIndex> keep_what_fits(const graph::Graph& graph, const profile::Profile& profile, Bytes fast,
                                           std::span<const graph::OpChoice> choices = {});

}  // namespace sluice::planners

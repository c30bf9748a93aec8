// Gives every rank a part of each parameter to update: gradients of all ranks are averaged part by part, and what the
// optimizer keeps is a part only (ZeRO-2; ZeRO-Offload, section 5.4.2).
//
//   before   update (w, dw, moments)                                                        > w, moments
//   after    dw --reduce-scatter--> dw.part          w --own part--> w.part
//            update (w.part, dw.part, moments of the part)                                  > w.part, moments
//            w.part --all-gather--> w
//
//   with a master   update (master of the part, dw.part, moments of the part)               > master, moments, w.part
//
// A part is ceil(elements / ranks) elements, counted row-major; the last ranks' may be shorter, and what lies behind is
// zero. Of M bytes of gradients and of M of parameters a rank sends (ranks - 1) / ranks each: what is least. Graphs of
// all ranks are the same; which part is whose is known to the step's context.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// `training` reads no parameter again that it has updated. `ranks` is above 1. Runs behind keep_half_parameters() and
// before accumulate_gradients(), delay_updates() and clip_gradients(), which then see parts.
Graph partition_updates(const Graph& training, int ranks);

std::int64_t ranks_of(const Graph& training);  // 1 where updates are not parted

}  // namespace sluice::graph

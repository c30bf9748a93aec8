// Delays every parameter update by a step, so that the optimizer runs beside the next step's forward and backward passes
// (ZeRO-Offload, section 5.5.2 and figure 5.6).
//
//   before   update (w, dw)
//   after    update (w, dw.delayed, filled)   dw --delay--> dw.delayed   ... the last one fills `filled`
//
//   step     1              2                      3
//   passes   with w0        with w0                with w1
//   update   none: nothing  w1, by gradients of 1  w2, by gradients of 2
//            is filled yet
//
// Gradients of a step are kept with the optimizer's state until the next step has used them: so a checkpoint holds the
// gradients in flight, and resuming gives the same bits. The first step that runs so only keeps its gradients; from then
// on step i + 1 computes with parameters that gradients of steps up to i - 1 have made. Adam's bias corrections count
// updates, not steps, and an update takes the learning rate of the step that it runs in.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Runs before clip_gradients(), which then goes by the delayed gradients. `training` reads no parameter again that it has
// updated (graph/reschedule.hpp: updates_may_run_last).
Graph delay_updates(const Graph& training);

// Whether the tensor is one that only runs with delayed updates have: a gradient of the step before, its loss scale
// (scale_loss.hpp), or `filled`.
bool is_in_flight(const Tensor& tensor);

}  // namespace sluice::graph

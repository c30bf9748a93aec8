// Scales losses for gradients in fp16, whose least value is 6e-8 and whose largest is 65504: the gradients of losses are
// multiplied by a scale, updates divide by it, and the scale follows what overflows (dynamic loss scaling: Micikevicius et
// al. 2018, section 3.2; rules and figures are those of PyTorch's GradScaler).
//
//   before   loss' > dlogits      ... dw   squares of dw   factor (squares)                 update (w, dw, factor)
//   after    loss' (scale) > ...  ... dw   squares of dw   factor (squares, scale, counts)  update (w, dw, factor)   next scale
//
//   gradients are   update               the next scale
//   finite          by dw / scale        the same; behind 2,000 such steps twice that, up to 2^24
//   not             none: all stays      half of it, down to 1
//
// What shows an infinity or a NaN are the squares of gradients, which are added up as these come (clip_gradients.hpp): one
// pass over them, and updates wait for the last. Batch norms' running statistics go on in a step left out. An update left out does not count as one of Adam's steps. Scale and counts are of the optimizer's state: a resumed
// run goes on with them. A delayed update (delay_updates.hpp) divides by the scale of the step that made its gradients, and
// the passes of one more step run before the scale follows. Ranks see the sums of all, so their scales are the same.
//
// Gradients that overflow with a scale of 1 end the training with an error (Session): no smaller scale would help.
#pragma once

#include <optional>

#include "sluice/graph/graph.hpp"
#include "sluice/graph/loss_scale.hpp"

namespace sluice::graph {

// Of the optimizer's state: the scale ([1]) and the counts ([2]) of op.hpp.
struct LossScaleTensors {
  TensorId scale = -1, counts = -1;
  TensorId of_updates = -1;  // the scale of the gradients that update: with delays another tensor
};
std::optional<LossScaleTensors> loss_scale_tensors(const Graph& graph);

// `clipped`: what clip_gradients() has made, which may update last (graph/reschedule.hpp). `initial`: is_loss_scale().
Graph scale_loss(const Graph& clipped, float initial);

}  // namespace sluice::graph

// How the scale of losses follows what overflows (graph/rewrite/scale_loss.hpp, op.hpp: kLossScale): the rule that
// kernels and rewrites share. Figures are those of PyTorch's GradScaler; its scale has no bounds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sluice/graph/ops/op.hpp"

namespace sluice::graph {

inline constexpr float kLeastLossScale = 1;
inline constexpr float kMostLossScale = 16777216;
inline constexpr std::int64_t kStepsOfLossScale = 2000;

// A clip factor that says: the gradients are not finite.
inline constexpr float kLeavesOut = -1;

// What kLossScale moves on: the scale, updates since it has changed, and all that were left out.
struct LossScale {
  float scale = kLeastLossScale;
  float kept = 0, left_out = 0;
};

// A power of two between the bounds: multiplying by it rounds nothing but what is too small or too large for fp16.
constexpr bool is_loss_scale(float scale) {
  constexpr std::uint32_t kMantissa = 0x7fffffU;
  return scale >= kLeastLossScale && scale <= kMostLossScale && (std::bit_cast<std::uint32_t>(scale) & kMantissa) == 0;
}

// Behind a step whose update was left out, or not. `of_updates`: the scale that its gradients were made with, which with
// delays is that of the step before: where it has been halved since, it is not halved twice for one overflow.
inline LossScale next_loss_scale(const LossScaleAttributes& attributes, LossScale now, float of_updates,
                                 bool leaves_out) {
  if (leaves_out) {
    return {std::min(now.scale, std::max(of_updates * attributes.backoff, kLeastLossScale)), 0, now.left_out + 1};
  }
  const bool grows = static_cast<std::int64_t>(now.kept) + 1 >= attributes.steps;
  return {grows ? std::min(now.scale * attributes.growth, kMostLossScale) : now.scale, grows ? 0 : now.kept + 1,
          now.left_out};
}

}  // namespace sluice::graph

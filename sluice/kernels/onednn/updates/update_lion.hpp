// Lion's step (graph/optimizers/optimizer_lion.cpp) as a pass over memory (optimizer_step.hpp).
#pragma once

#include "sluice/kernels/onednn/updates/optimizer_step.hpp"

namespace sluice::kernels {

//   g = scale gradient
//   w = keep w - rate sign(beta1 m + rest1 g)
//   m = beta2 m + rest2 g
struct LionStep {
  float beta1 = 0, rest1 = 1;  // rest: 1 - beta
  float beta2 = 0, rest2 = 1;
  float keep = 1;  // 1 - rate weight_decay
  float rate = 0;
  float scale = 1;  // of gradients
};

LionStep lion_step(const graph::UpdateAttributes& attributes, const StepContext& context);

template <typename Gradient, typename Half>
void update_elements(const LionStep& step, const UpdateOperands<Gradient, Half>& operands, std::int64_t begin,
                     std::int64_t end, VectorSet set = widest_vectors());

}  // namespace sluice::kernels

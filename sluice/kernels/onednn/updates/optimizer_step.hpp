// What an optimizer does to a parameter, in one pass over memory: CPU-Adam (ZeRO-Offload, section 5.5.1, algorithm 4).
//
// Each element is read once and written once: the gradient is brought back to its size on the way, and where the
// parameter is computed with in 16 bits, its new copy leaves by streaming stores while the element is in a register.
//
//   bytes an element    fp32                       gradient and copy in 16 bits
//   read                16: w, gradient, moments   14
//   written             12: w, moments             14
//
// Every product, sum, quotient and root is rounded by itself, as PyTorch's are and unlike the paper's multiply-adds: so
// the bits are the same for any vector width, cut into pieces, and number of threads, and what is rounded once more
// costs nothing where memory decides. What is the same for all elements is computed in fp64 and rounded once.
//
// Threads: none of its own. Outputs may be the inputs.
#pragma once

#include <cstdint>

#include "sluice/kernels/backend.hpp"
#include "sluice/kernels/onednn/vectors/vector_code.hpp"

namespace sluice::kernels {

// w -= rate v, where v = momentum v + g and g = scale gradient + weight_decay w; nesterov: w -= rate (g + momentum v).
struct SgdStep {
  float rate = 0, momentum = 0, weight_decay = 0;
  bool nesterov = false;
  float scale = 1;  // of gradients
};

// Adam, and AdamW with `decoupled` decay:
//   g  = scale gradient + weight_decay w
//   m1 = beta1 m1 + rest1 g
//   m2 = beta2 m2 + rest2 g g
//   w  = keep w - step_size m1 / (root_correction sqrt(m2) + epsilon)
struct AdamStep {
  float beta1 = 0, rest1 = 1;  // rest: 1 - beta
  float beta2 = 0, rest2 = 1;
  float epsilon = 0, weight_decay = 0;
  float keep = 1;             // 1 - rate weight_decay where decay is decoupled
  float step_size = 0;        // rate / (1 - beta1^t)
  float root_correction = 1;  // 1 / sqrt(1 - beta2^t)
  float scale = 1;            // of gradients
};

SgdStep sgd_step(const graph::UpdateAttributes& attributes, const StepContext& context);
AdamStep adam_step(const graph::UpdateAttributes& attributes, const StepContext& context);

// The first elements of a parameter and what belongs to it.
template <typename Gradient, typename Half = BFloat16>  // float or Half; BFloat16 or Float16
struct UpdateOperands {
  const float* w = nullptr;
  const Gradient* gradient = nullptr;
  const float* moment1 = nullptr;  // of SGD: the momentum
  const float* moment2 = nullptr;  // Adam alone
  float* new_w = nullptr;
  float* new_moment1 = nullptr;
  float* new_moment2 = nullptr;
  Half* half = nullptr;  // new_w in 16 bits, 64-byte aligned; nullptr: nobody wants it
};

inline constexpr std::int64_t kUpdateAlignment = 2 * kLanes;

// Updates the elements [begin, end); `begin` is a multiple of kUpdateAlignment.
template <typename Gradient, typename Half>
void update_elements(const SgdStep& step, const UpdateOperands<Gradient, Half>& operands, std::int64_t begin,
                     std::int64_t end, VectorSet set = widest_vectors());
template <typename Gradient, typename Half>
void update_elements(const AdamStep& step, const UpdateOperands<Gradient, Half>& operands, std::int64_t begin,
                     std::int64_t end, VectorSet set = widest_vectors());

}  // namespace sluice::kernels

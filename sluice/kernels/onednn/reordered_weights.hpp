// A kernel that wants its weights in another layout than the graph has them in, made to take the place of one that does
// not: the weights are reordered in the workspace before it runs, or their gradient after it.
//
//   workspace   | what the kernel itself takes | the weights in its layout |
//
// So the choice of an implementation stays the choice of a workspace and a time: no other op sees the layout.
#pragma once

#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

// `kernel` for `request`, whose layouts are all fixed. It differs from these in operand `weights` (inputs, then outputs)
// at most; where it does not differ it is returned as it is.
KernelPtr with_weights_reordered(KernelPtr kernel, const KernelRequest& request, std::size_t weights,
                                 const dnnl::engine& engine);

}  // namespace sluice::kernels

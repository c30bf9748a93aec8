// Unary functions as loops of our own: those that oneDNN has no primitive for.
#pragma once

#include "sluice/kernels/onednn/loops/loop_kernel.hpp"

namespace sluice::kernels {

// `data`: how all operands lie.
KernelPtr make_unary_loop(const KernelRequest& request, const Layout& data);
KernelPtr make_unary_backward_loop(const KernelRequest& request, const Layout& data);

}  // namespace sluice::kernels

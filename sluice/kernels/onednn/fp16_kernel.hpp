// Ops on fp16: oneDNN has no kernels for it on CPUs, and few of these compute in it. So fp16 is how tensors are stored,
// and kernels compute in fp32, as products of fp16 are added up on GPUs, too.
//
//   what moves elements     our loop for bf16, which moves the same bits
//   what reads 16 bits      casts, updates, sums of gradients, batch norms: their loops know fp16
//   everything else         the kernel for fp32, on copies of its operands in the workspace; results are rounded behind it
//
// Copies take 4 bytes an element of every operand in fp16, and two passes over memory. In layouts a copy lies as its
// tensor does.
#pragma once

#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

// Whether an op of `request` needs make_fp16_kernel(): some operand is fp16, and no loop reads it as it lies.
bool wants_fp16_kernel(const KernelRequest& request);

// `make` makes the kernel for other types; throws what it throws.
KernelPtr make_fp16_kernel(const KernelRequest& request, const dnnl::engine& engine, KernelMaker make);

// Between layouts of which one or both are fp16.
KernelPtr make_fp16_reorder(const Layout& from, const Layout& to, const dnnl::engine& engine);

}  // namespace sluice::kernels

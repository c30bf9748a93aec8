// The kernels of the CUDA backend: for each kind of op a function that puts its work on a stream.
//
// Operands are row-major (plain) in device memory; indices follow op_table.hpp. A kernel may write an output
// over an input where op_traits.hpp says so. Results depend on operands, the step and the op's implementation alone:
// sums are added in an order fixed by the shapes, and nothing is added by atomics.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::kernels::cuda {

// What a step tells its kernels, in device memory: the same launches serve every step.
struct StepOnDevice {
  std::int64_t step = 0;
  std::uint64_t seed = 0;
  float learning_rate = 0;
};

struct Operand {
  void* data = nullptr;
  graph::DType dtype = graph::DType::kF32;
  const graph::Shape* shape = nullptr;  // as the op sees it, which a view may have changed

  bool bf16() const { return dtype == graph::DType::kBF16; }
  std::int64_t elements() const { return graph::element_count(*shape); }
};

// One op about to run. The workspace, if the op asked for one, is not among the outputs.
struct CudaCall {
  const graph::Op& op;
  const std::vector<Operand>& inputs;
  const std::vector<Operand>& outputs;
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;
  const StepOnDevice* step = nullptr;  // in device memory

  template <typename Family>
  const Family& as() const {
    return op.as<Family>();
  }
  const graph::Slice& slice() const { return op.slice; }
  const Operand& input(std::size_t i) const { return inputs.at(i); }
  const Operand& output(std::size_t i) const { return outputs.at(i); }
};

using CudaKernel = void (*)(const CudaCall&);
// Scratch bytes that an op of these operand shapes needs (inputs, then outputs).
using WorkspaceOf = Bytes (*)(const graph::Op&, const std::vector<graph::Shape>& inputs,
                              const std::vector<graph::Shape>& outputs);

struct KernelEntry {
  graph::OpKind kind;
  CudaKernel run;
  WorkspaceOf workspace = nullptr;
};
using KernelEntries = std::vector<KernelEntry>;

// One function for each file of kernels.
KernelEntries elementwise_kernels();
KernelEntries unary_kernels();
KernelEntries movement_kernels();
KernelEntries update_kernels();
KernelEntries batch_norm_kernels();
KernelEntries layer_norm_kernels();
KernelEntries pooling_kernels();
KernelEntries loss_kernels();
KernelEntries sequence_kernels();

}  // namespace sluice::kernels::cuda

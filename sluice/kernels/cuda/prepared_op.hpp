// An op prepared for its shapes: descriptors made, algorithm chosen, so that running it only puts work on the stream.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/kernels/cuda/context.hpp"
#include "sluice/kernels/cuda/cuda_kernels.hpp"

namespace sluice::kernels::cuda {

inline constexpr Bytes kWorkspaceAlignment = 256;  // what cuBLASLt wants; a workspace is that much larger

// What is known of an op before it has addresses: operands are inputs then outputs, without a workspace.
struct OpRequest {
  graph::Op op;
  std::vector<graph::Shape> inputs;
  std::vector<graph::Shape> outputs;
  std::vector<graph::DType> input_types;
  std::vector<graph::DType> output_types;
  Bytes scratch = 0;  // more workspace than this is not worth having
};

class PreparedOp {
 public:
  virtual ~PreparedOp() = default;
  // Puts the op on call.stream. Throws gpu::CudaFailure.
  virtual void run(const CudaCall& call) = 0;

  std::string implementation;
  Bytes workspace_bytes = 0;
};

// The ways to run an op, the one that should be fastest first.
using Ways = std::vector<std::shared_ptr<PreparedOp>>;

Ways prepare_op(const Context& context, const OpRequest& request);

// Of single families; empty where the kind is none of theirs.
Ways prepare_convolution(const Context& context, const OpRequest& request);
Ways prepare_dense(const Context& context, const OpRequest& request);
Ways prepare_matmul(const Context& context, const OpRequest& request);

}  // namespace sluice::kernels::cuda

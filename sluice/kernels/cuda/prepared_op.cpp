#include "sluice/kernels/cuda/prepared_op.hpp"

#include <algorithm>
#include <map>

#include "sluice/gpu/check_cuda.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::kernels::cuda {
namespace {

std::map<graph::OpKind, KernelEntry> all_entries() {
  std::map<graph::OpKind, KernelEntry> all;
  for (const auto& family : {elementwise_kernels, unary_kernels, movement_kernels, update_kernels, batch_norm_kernels,
                             layer_norm_kernels, pooling_kernels, loss_kernels, sequence_kernels}) {
    for (const KernelEntry& entry : family()) {
      SLUICE_CHECK(all.emplace(entry.kind, entry).second, "two kernels for " + std::string(to_string(entry.kind)));
    }
  }
  return all;
}

class OwnKernel : public PreparedOp {
 public:
  OwnKernel(const KernelEntry& entry, const OpRequest& request) : run_(entry.run) {
    implementation = "cuda";
    if (entry.workspace != nullptr) workspace_bytes = entry.workspace(request.op, request.inputs, request.outputs);
  }
  void run(const CudaCall& call) override { run_(call); }

 private:
  CudaKernel run_;
};

}  // namespace

Ways prepare_op(const Context& context, const OpRequest& request) {
  for (const auto* types : {&request.input_types, &request.output_types}) {
    if (std::ranges::find(*types, graph::DType::kF16) != types->end())
      throw gpu::CudaFailure("fp16 runs on processors only");
  }
  for (const auto& family : {prepare_convolution, prepare_dense, prepare_matmul}) {
    if (Ways ways = family(context, request); !ways.empty()) return ways;
  }
  static const std::map<graph::OpKind, KernelEntry> entries = all_entries();
  const auto entry = entries.find(request.op.kind);
  if (entry == entries.end())
    throw gpu::CudaFailure(std::string(to_string(request.op.kind)) + " runs on processors only");
  const auto* const update = std::get_if<graph::UpdateAttributes>(&request.op.attributes);
  if (update != nullptr && (update->nesterov || update->rate != 0 || graph::has_master(request.op))) {
    throw gpu::CudaFailure("Nesterov's momentum, rates of a parameter's own and masters run on processors only");
  }
  const bool looks_up =
      request.op.kind == graph::OpKind::kEmbedding || request.op.kind == graph::OpKind::kEmbeddingBackward;
  if (looks_up && request.input_types.at(0) != graph::DType::kI32) {
    throw gpu::CudaFailure("lookups by computed ids run on processors only");
  }
  return {std::make_shared<OwnKernel>(entry->second, request)};
}

}  // namespace sluice::kernels::cuda

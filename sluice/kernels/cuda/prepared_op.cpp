#include "sluice/kernels/cuda/prepared_op.hpp"

#include <algorithm>
#include <map>

#include "sluice/gpu/check_cuda.hpp"
#include "sluice/graph/op_traits.hpp"

namespace sluice::cuda {
namespace {

std::map<OpKind, KernelEntry> all_entries() {
  std::map<OpKind, KernelEntry> all;
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
    if (std::ranges::find(*types, DType::kF16) != types->end()) throw CudaFailure("fp16 runs on processors only");
  }
  for (const auto& family : {prepare_convolution, prepare_dense, prepare_matmul}) {
    if (Ways ways = family(context, request); !ways.empty()) return ways;
  }
  static const std::map<OpKind, KernelEntry> entries = all_entries();
  const auto entry = entries.find(request.op.kind);
  if (entry == entries.end()) throw CudaFailure(std::string(to_string(request.op.kind)) + " runs on processors only");
  const Attributes& attributes = request.op.attributes;
  if (is_update(request.op.kind) && (attributes.nesterov || attributes.rate != 0 || has_master(request.op))) {
    throw CudaFailure("Nesterov's momentum, rates of a parameter's own and masters run on processors only");
  }
  const bool looks_up = request.op.kind == OpKind::kEmbedding || request.op.kind == OpKind::kEmbeddingBackward;
  if (looks_up && request.input_types.at(0) != DType::kI32) {
    throw CudaFailure("lookups by computed ids run on processors only");
  }
  return {std::make_shared<OwnKernel>(entry->second, request)};
}

}  // namespace sluice::cuda

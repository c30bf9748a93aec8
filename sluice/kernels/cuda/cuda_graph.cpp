#include "sluice/kernels/cuda/cuda_graph.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/bf16.hpp"

namespace sluice::kernels::cuda {
namespace {

Error failed(const std::string& what, const gpu::CudaFailure& failure) {
  return {ErrorCode::kIo, what + ": " + failure.what()};
}

}  // namespace

CudaGraph::CudaGraph(std::shared_ptr<Context> context, LoweredGraph lowered)
    : context_(std::move(context)), lowered_(std::move(lowered)) {}

CudaGraph::~CudaGraph() {
  for (const Staging& each : staging_) cudaFreeHost(each.data);
}

Status CudaGraph::run(graph::OpIndex op, std::span<void* const> operands, const StepContext& context) {
  const graph::Op& node = lowered_.graph.op(op);
  try {
    fetched_from_ = nullptr;
    context_->step_on_host() = {context.step, context.seed, static_cast<float>(context.learning_rate)};
    if (node.kind == graph::OpKind::kInput) SLUICE_RETURN_IF_ERROR(fill_input(context));
    begin_step();
    enqueue(op, operands);
    check(cudaStreamSynchronize(context_->stream()), "waiting for the op");
    return {};
  } catch (const gpu::CudaFailure& failure) {
    return failed("the GPU failed in op " + node.name, failure);
  }
}

Status CudaGraph::prepare_step(const StepContext& context) {
  context_->step_on_host() = {context.step, context.seed, static_cast<float>(context.learning_rate)};
  if (input_op() == nullptr) return {};
  const bool fetched = fetched_from_ == context.input && fetched_step_ == context.step;
  fetched_from_ = nullptr;
  return fetched ? Status() : fill_input(context);
}

Status CudaGraph::fetch(const StepContext& context) {
  if (input_op() == nullptr || context.input == nullptr) return {};
  SLUICE_RETURN_IF_ERROR(fill_input(context));
  fetched_from_ = context.input;
  fetched_step_ = context.step;
  return {};
}

const graph::Op* CudaGraph::input_op() const {
  const auto& ops = lowered_.graph.ops();
  const auto found = std::ranges::find(ops, graph::OpKind::kInput, &graph::Op::kind);
  return found == ops.end() ? nullptr : &*found;
}

Status CudaGraph::make_staging() {
  for (const graph::TensorId id : input_op()->outputs) {
    Staging staging{nullptr, static_cast<std::size_t>(lowered_.graph.tensor(id).bytes)};
    if (cudaHostAlloc(reinterpret_cast<void**>(&staging.data), staging.bytes, cudaHostAllocDefault) != cudaSuccess) {
      return Error{ErrorCode::kOutOfSpace,
                   "no pinned host memory for a step's input: " + format_bytes(static_cast<Bytes>(staging.bytes)) +
                       "; make the batch smaller"};
    }
    staging_.push_back(staging);
  }
  return {};
}

Status CudaGraph::fill_input(const StepContext& context) {
  SLUICE_CHECK(context.input != nullptr, "a step with an input op needs an input source");
  if (staging_.empty()) SLUICE_RETURN_IF_ERROR(make_staging());
  std::vector<std::span<std::byte>> tensors;
  for (const Staging& each : staging_) tensors.emplace_back(each.data, each.bytes);
  return context.input->fill(context.step, tensors);
}

void CudaGraph::enqueue(graph::OpIndex index, std::span<void* const> operands) const {
  const LoweredOp& op = lowered_.ops[as_index(index)];
  const OpRequest& request = op.request;
  if (request.op.kind == graph::OpKind::kInput) {
    for (std::size_t i = 0; i < staging_.size(); ++i) {
      check(cudaMemcpyAsync(operands[i], staging_[i].data, staging_[i].bytes, cudaMemcpyDefault, context_->stream()),
            "sending a step's input");
    }
    return;
  }
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::size_t next = 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    inputs.push_back({operands[next++], request.input_types[i], &request.inputs[i]});
  for (std::size_t i = 0; i < request.outputs.size(); ++i)
    outputs.push_back({operands[next++], request.output_types[i], &request.outputs[i]});
  CudaCall call{request.op, inputs, outputs, nullptr, context_->stream(), context_->step()};
  if (next < operands.size()) {
    const auto address = reinterpret_cast<std::uintptr_t>(operands[next]);
    call.workspace = reinterpret_cast<void*>(align_up(static_cast<Bytes>(address), kWorkspaceAlignment));
  }
  op.ways.at(op.way)->run(call);
}

std::unique_ptr<CompiledGraph> CudaGraph::rescheduled(const graph::Rescheduled& step) const {
  return std::make_unique<CudaGraph>(context_, reschedule(*context_, lowered_, step));
}

void CudaGraph::to_plain(graph::TensorId id, const void* stored, std::span<float> plain) {
  if (lowered_.graph.tensor(id).dtype == graph::DType::kBF16) {
    const auto* from = static_cast<const BFloat16*>(stored);
    std::transform(from, from + plain.size(), plain.begin(), [](BFloat16 value) { return to_float(value); });
  } else {
    std::copy_n(static_cast<const float*>(stored), plain.size(), plain.data());
  }
}

void CudaGraph::from_plain(graph::TensorId id, std::span<const float> plain, void* stored) {
  if (lowered_.graph.tensor(id).dtype == graph::DType::kBF16) {
    std::transform(plain.begin(), plain.end(), static_cast<BFloat16*>(stored), to_bf16);
  } else {
    std::copy_n(plain.data(), plain.size(), static_cast<float*>(stored));
  }
}

Result<std::shared_ptr<void>> CudaGraph::share(std::span<std::byte> host_memory) {
  const cudaError_t status = cudaHostRegister(host_memory.data(), host_memory.size(), cudaHostRegisterPortable);
  if (status != cudaSuccess) {
    return Error{ErrorCode::kOutOfSpace, std::string("host memory cannot be pinned: ") + cudaGetErrorString(status)};
  }
  return std::shared_ptr<void>(host_memory.data(), [](void* memory) { cudaHostUnregister(memory); });
}

}  // namespace sluice::kernels::cuda

#include "sluice/exec/gpu_executor.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/exec/gpu_events.hpp"
#include "sluice/exec/resolved_program.hpp"
#include "sluice/kernels/cuda/cuda_graph.hpp"

namespace sluice::exec {
namespace {

using gpu::check;
using gpu::CudaFailure;

constexpr std::int64_t kStepsBeforeGraph = 2;  // libraries load kernels as they are first used

class GpuExecutor : public Executor {
 public:
  GpuExecutor(kernels::cuda::CudaGraph& kernels, std::shared_ptr<RunMemory> memory, program::Program program)
      : memory_(std::move(memory)),
        kernels_(kernels),
        program_(std::move(program)),
        storages_(memory_->storages()),
        resolved_(resolve_program(kernels.graph(), memory_->machine(), program_, storages_)),
        events_(program_) {
    kernels_.forget_fetched();
    trace_.link_bytes = trace_.raw_link_bytes = resolved_.link_bytes;
    for (const auto& lane : program_.lanes) {
      cudaStream_t stream = nullptr;
      if (!lane.empty())
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making the stream of a link");
      links_.push_back(stream);
    }
  }

  ~GpuExecutor() override {
    cudaStreamSynchronize(ops());
    if (captured_ != nullptr) cudaGraphExecDestroy(captured_);
    for (const cudaStream_t stream : links_) {
      if (stream != nullptr) cudaStreamDestroy(stream);
    }
  }

  Result<program::StepTimes> run_step(const kernels::StepContext& context) override {
    SLUICE_RETURN_IF_ERROR(memory_->usable());
    memory_->spoil({ErrorCode::kIo, "a step of this executor was abandoned: make a new executor from a checkpoint"});
    try {
      SLUICE_RETURN_IF_ERROR(kernels_.prepare_step(context));
      launch();
      ++steps_;
      SLUICE_RETURN_IF_ERROR(fetch_next(context));
      check(cudaStreamSynchronize(ops()), "waiting for the step");
      events_.read_times(program_, trace_);
    } catch (const CudaFailure& failure) {
      memory_->spoil({ErrorCode::kIo, std::string("the GPU failed in a step, make a new executor from a checkpoint: ") +
                                          failure.what()});
      return memory_->usable().error();
    }
    memory_->mend();
    return trace_;
  }

  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override {
    return memory_->read_tensor(tensor, bytes);
  }
  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override {
    return memory_->write_tensor(tensor, bytes);
  }

  std::vector<std::string> notes() const override { return storages_.notes(); }

 private:
  cudaStream_t ops() const { return kernels_.context().stream(); }
  cudaStream_t link(memory::LinkId id) const { return links_[as_index(id)]; }

  void launch() {
    if (steps_ == kStepsBeforeGraph && program_.transfers.empty()) capture();
    if (captured_ != nullptr) {
      check(cudaGraphLaunch(captured_, ops()), "starting a step");
    } else {
      put_on_streams();
    }
  }

  // The same calls, recorded instead of run.
  void capture() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(ops(), cudaStreamCaptureModeThreadLocal), "recording a step");
    events_.set_recording(true);
    put_on_streams();
    events_.set_recording(false);
    check(cudaStreamEndCapture(ops(), &graph), "recording a step");
    const cudaError_t status = cudaGraphInstantiate(&captured_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "making a graph of a step");
  }

  // In plan order: the transfers issued after op k - 1, then op k. So what an instruction waits for is on its stream.
  void put_on_streams() {
    kernels_.begin_step();
    events_.begin(ops());
    for (const cudaStream_t stream : links_) {
      if (stream != nullptr) events_.wait_for_begin(stream);
    }
    program::TransferIndex next = 0;
    for (graph::OpIndex op = 0; op < as_id<graph::OpIndex>(program_.compute.size()); ++op) {
      next = put_transfers_before(op, next);
      put_op(op);
    }
    put_transfers_before(as_id<graph::OpIndex>(program_.compute.size()), next);
    for (memory::LinkId id = 0; id < as_id<memory::LinkId>(links_.size()); ++id) {
      if (link(id) != nullptr) events_.wait_for_transfer(ops(), program_.lanes[as_index(id)].back());
    }
    events_.end(ops());
  }

  program::TransferIndex put_transfers_before(graph::OpIndex op, program::TransferIndex next) {
    for (; next < as_id<program::TransferIndex>(program_.transfers.size()); ++next) {
      const program::TransferInstruction& transfer = program_.transfers[as_index(next)];
      if (transfer.after_op >= op) break;
      put_transfer(next, transfer);
    }
    return next;
  }

  void put_transfer(program::TransferIndex index, const program::TransferInstruction& transfer) {
    const cudaStream_t stream = link(transfer.link);
    if (transfer.after_op != plan::kStepStart) events_.wait_for_op(stream, transfer.after_op);
    for (const graph::OpIndex op : transfer.op_waits) events_.wait_for_op(stream, op);
    for (const program::TransferIndex earlier : transfer.waits) {
      if (program_.transfers[as_index(earlier)].link != transfer.link) events_.wait_for_transfer(stream, earlier);
    }
    events_.begin_transfer(stream, index);
    check(cudaMemcpyAsync(storages_.base(transfer.to.tier) + transfer.to.offset,
                          storages_.base(transfer.from.tier) + transfer.from.offset, as_index(transfer.bytes),
                          cudaMemcpyDefault, stream),
          "a transfer");
    events_.end_transfer(stream, index);
  }

  void put_op(graph::OpIndex op) {
    const program::ComputeInstruction& instruction = program_.compute[as_index(op)];
    for (const program::TransferIndex transfer : instruction.waits) events_.wait_for_transfer(ops(), transfer);
    if (!instruction.waits.empty()) events_.begin_op(ops(), op);
    kernels_.enqueue(op, resolved_.operands[as_index(op)]);
    events_.end_op(ops(), op);
  }

  // The pinned memory that the input op reads is free again long before the step ends.
  Status fetch_next(const kernels::StepContext& context) {
    const auto input = std::ranges::find(kernels_.graph().ops(), graph::OpKind::kInput, &graph::Op::kind);
    if (input == kernels_.graph().ops().end()) return {};
    events_.wait_on_host(as_id<graph::OpIndex>(input - kernels_.graph().ops().begin()));
    kernels::StepContext next = context;
    ++next.step;
    return kernels_.fetch(next);
  }

  std::shared_ptr<RunMemory> memory_;
  kernels::cuda::CudaGraph& kernels_;
  program::Program program_;
  const memory::TierStorages& storages_;
  ResolvedProgram resolved_;
  GpuEvents events_;
  std::vector<cudaStream_t> links_;  // by LinkId; nullptr where it has nothing to do
  cudaGraphExec_t captured_ = nullptr;
  std::int64_t steps_ = 0;
  program::StepTimes trace_;
};

Error unsupported(const std::string& what) {
  return {ErrorCode::kUnsupported, "on a GPU there are no " + what + " yet; choose another planner or machine"};
}

Status check_supported(const memory::Machine& machine, const program::Program& program) {
  const auto encoded = [](const program::TransferInstruction& each) { return each.encoded >= 0; };
  if (std::ranges::any_of(program.transfers, encoded)) return unsupported("encoded transfers");
  if (!program.stitches.empty()) return unsupported("stitches");
  for (const memory::Tier& tier : machine.tiers) {
    if (!tier.kind->device_reaches) return unsupported("tiers like " + tier.name);
  }
  const auto elsewhere = [](const program::ComputeInstruction& each) { return each.processor != kMainProcessor; };
  if (std::ranges::any_of(program.compute, elsewhere)) return unsupported("ops on other processors");
  return {};
}

}  // namespace

Result<std::unique_ptr<Executor>> make_gpu_executor(std::shared_ptr<RunMemory> memory, program::Program program) {
  auto* const kernels = dynamic_cast<kernels::cuda::CudaGraph*>(memory->compiled().get());
  SLUICE_CHECK(kernels != nullptr, "what a GPU runs was compiled for it");
  SLUICE_RETURN_IF_ERROR(check_supported(memory->machine(), program));
  try {
    return std::unique_ptr<Executor>(std::make_unique<GpuExecutor>(*kernels, std::move(memory), std::move(program)));
  } catch (const CudaFailure& failure) {
    return Error{ErrorCode::kIo, std::string("the GPU cannot start: ") + failure.what()};
  }
}

}  // namespace sluice::exec

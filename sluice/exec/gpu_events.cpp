#include "sluice/exec/gpu_events.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/gpu/check_cuda.hpp"

namespace sluice::exec {
namespace {

using gpu::check;

cudaEvent_t timed() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "making an event");
  return event;
}

cudaEvent_t untimed() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  return event;
}

// By OpIndex: whether a transfer waits for it.
std::vector<bool> awaited_ops(const program::Program& program) {
  std::vector<bool> awaited(program.compute.size(), false);
  for (const program::TransferInstruction& transfer : program.transfers) {
    if (transfer.after_op != plan::kStepStart) awaited[as_index(transfer.after_op)] = true;
    for (const graph::OpIndex op : transfer.op_waits) awaited[as_index(op)] = true;
  }
  return awaited;
}

}  // namespace

GpuEvents::GpuEvents(const program::Program& program) : step_{timed(), timed(), untimed()} {
  const std::vector<bool> awaited = awaited_ops(program);
  for (std::size_t op = 0; op < program.compute.size(); ++op) {
    const bool waits = !program.compute[op].waits.empty();
    ops_.push_back({waits ? timed() : nullptr, timed(), awaited[op] ? untimed() : nullptr});
  }
  for (std::size_t i = 0; i < program.transfers.size(); ++i) transfers_.push_back({timed(), timed(), untimed()});
}

GpuEvents::~GpuEvents() {
  destroy(step_);
  for (const Marks& marks : ops_) destroy(marks);
  for (const Marks& marks : transfers_) destroy(marks);
}

void GpuEvents::destroy(const Marks& marks) const {
  for (const cudaEvent_t event : {marks.begin, marks.end, marks.done}) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

void GpuEvents::record_time(cudaEvent_t event, cudaStream_t stream) const {
  check(cudaEventRecordWithFlags(event, stream, recording_ ? cudaEventRecordExternal : cudaEventRecordDefault),
        "recording a time");
}

void GpuEvents::begin(cudaStream_t stream) {
  record_time(step_.begin, stream);
  check(cudaEventRecord(step_.done, stream), "recording the step's begin");
}

void GpuEvents::end(cudaStream_t stream) { record_time(step_.end, stream); }

void GpuEvents::begin_op(cudaStream_t stream, graph::OpIndex op) { record_time(ops_[as_index(op)].begin, stream); }

void GpuEvents::end_op(cudaStream_t stream, graph::OpIndex op) {
  const Marks& marks = ops_[as_index(op)];
  record_time(marks.end, stream);
  if (marks.done != nullptr) check(cudaEventRecord(marks.done, stream), "recording an op's end");
}

void GpuEvents::begin_transfer(cudaStream_t stream, program::TransferIndex transfer) {
  record_time(transfers_[as_index(transfer)].begin, stream);
}

void GpuEvents::end_transfer(cudaStream_t stream, program::TransferIndex transfer) {
  const Marks& marks = transfers_[as_index(transfer)];
  record_time(marks.end, stream);
  check(cudaEventRecord(marks.done, stream), "recording a transfer's end");
}

void GpuEvents::wait_for_begin(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, step_.done, 0), "waiting for the step's begin");
}

void GpuEvents::wait_for_op(cudaStream_t stream, graph::OpIndex op) const {
  check(cudaStreamWaitEvent(stream, ops_[as_index(op)].done, 0), "waiting for an op");
}

void GpuEvents::wait_for_transfer(cudaStream_t stream, program::TransferIndex transfer) const {
  check(cudaStreamWaitEvent(stream, transfers_[as_index(transfer)].done, 0), "waiting for a transfer");
}

void GpuEvents::wait_on_host(graph::OpIndex op) const {
  check(cudaEventSynchronize(ops_[as_index(op)].end), "waiting for an op");
}

Seconds GpuEvents::since_begin(cudaEvent_t event) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, step_.begin, event), "reading a time");
  return milliseconds * 1e-3;
}

void GpuEvents::read_times(const program::Program& program, program::StepTimes& times) const {
  times.ops.resize(ops_.size());
  times.stalls.assign(ops_.size(), 0);
  times.transfers.resize(transfers_.size());
  times.stall_seconds = 0;
  Seconds free = 0;  // since when the processor has had nothing to do
  for (std::size_t op = 0; op < ops_.size(); ++op) {
    const Seconds begin = ops_[op].begin == nullptr ? free : since_begin(ops_[op].begin);
    times.ops[op] = {begin, since_begin(ops_[op].end)};
    times.stalls[op] = std::max(0.0, begin - free);
    times.stall_seconds += times.stalls[op];
    free = times.ops[op].end;
  }
  // A transfer that waited for another link's turn begins when its own link was free.
  for (const std::vector<program::TransferIndex>& lane : program.lanes) {
    Seconds before = 0;
    for (const program::TransferIndex transfer : lane) {
      const Marks& marks = transfers_[as_index(transfer)];
      const Seconds end = since_begin(marks.end);
      times.transfers[as_index(transfer)] = {std::clamp(since_begin(marks.begin), before, end), end};
      before = end;
    }
  }
  times.step_seconds = since_begin(step_.end);
  times.stall_seconds += std::max(0.0, times.step_seconds - free);
}

}  // namespace sluice::exec

#include "sluice/exec/compute_lane.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <exception>

#include "sluice/base/as_index.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/kernels/compute_threads.hpp"

namespace sluice::exec {
namespace {

// By position in the processor's lane.
std::vector<bool> awaited_ops(const ComputeContext& context, const std::vector<graph::OpIndex>& ops) {
  std::vector<bool> awaited(ops.size(), false);
  if (context.ops_of.size() == 1 || ops.empty()) return awaited;
  const auto mark = [&](const std::vector<graph::OpIndex>& waits) {
    for (const graph::OpIndex op : waits) {
      const auto at = std::ranges::lower_bound(ops, op);
      if (at != ops.end() && *at == op) awaited[as_index(at - ops.begin())] = true;
    }
  };
  for (const program::ComputeInstruction& instruction : context.program.compute) mark(instruction.op_waits);
  for (const program::TransferInstruction& transfer : context.program.transfers) mark(transfer.op_waits);
  awaited.back() = true;
  return awaited;
}

// The first of the processor's cores, where those of all processors come one after the other.
int first_core(const memory::Machine& machine, ProcessorId processor) {
  int first = 0;
  for (ProcessorId before = 0; before < processor; ++before) first += machine.threads_of(before);
  return first;
}

}  // namespace

ComputeLane::ComputeLane(ProcessorId processor, const ComputeContext& context)
    : processor_(processor),
      threads_(context.machine.threads_of(processor)),
      context_(context),
      ops_(context.ops_of.at(as_index(processor))),
      awaited_(awaited_ops(context, ops_)),
      delays_(threads_),
      together_(kernels::on_compute_threads(threads_)) {}

void ComputeLane::start() {
  if (!ops_.empty()) thread_ = std::thread([this] { run(); });
}

void ComputeLane::join() {
  if (thread_.joinable()) thread_.join();
}

void ComputeLane::run() {
  keep_to_cores(first_core(context_.machine, processor_), threads_);
  name_thread();
  for (std::int64_t step = 0; context_.progress.wait_for_step(step, processor_); ++step) {
    Status status;
    try {
      status = run_step();
    } catch (const std::exception& error) {
      status = Error{ErrorCode::kIo, fmt::format("processor {} failed: {}", processor_, error.what())};
    }
    if (!status.ok()) context_.progress.fail(status.error());
  }
}

Status ComputeLane::run_step() {
  const Status status = run_ops();
  return status.ok() && is_main() ? finish_step() : status;
}

Status ComputeLane::run_ops() {
  expect_help(true);
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (is_main()) {
      for (const auto& link : context_.links) link->help(together_);
    }
    SLUICE_RETURN_IF_ERROR(wait_until_ready(ops_[i]));
    SLUICE_RETURN_IF_ERROR(run_op(ops_[i]));
    if (awaited_[i]) delays_.settle();
    context_.progress.finish_op(ops_[i]);
  }
  return {};
}

// What failed while ops did not need it ends the step here too, at the next op.
Status ComputeLane::wait_until_ready(graph::OpIndex op) {
  Progress& progress = context_.progress;
  const program::ComputeInstruction& instruction = context_.program.compute[as_index(op)];
  Seconds& stall = context_.trace.stalls[as_index(op)];
  stall = 0;
  if (progress.stopped()) return progress.failure();
  const auto late = [&](program::TransferIndex transfer) { return !progress.transfer_done(transfer); };
  const auto undone = [&](graph::OpIndex earlier) { return !progress.op_done(earlier); };
  if (std::ranges::none_of(instruction.waits, late) && std::ranges::none_of(instruction.op_waits, undone)) return {};
  delays_.settle();
  const Seconds begin = progress.seconds_since_step_start();
  expect_help(false);
  for (const program::TransferIndex transfer : instruction.waits) {
    if (!progress.wait_for_transfer(transfer, processor_)) return progress.failure();
  }
  for (const graph::OpIndex earlier : instruction.op_waits) {
    if (!progress.wait_for_op(earlier, processor_)) return progress.failure();
  }
  expect_help(true);
  stall = progress.seconds_since_step_start() - begin;
  if (is_main()) context_.trace.stall_seconds += stall;
  return {};
}

Status ComputeLane::run_op(graph::OpIndex op) {
  program::Span& span = context_.trace.ops[as_index(op)];
  span.begin = context_.progress.seconds_since_step_start();
  const Status status = context_.observer == nullptr
                            ? context_.compiled.run(op, context_.resolved.operands[as_index(op)], *context_.step)
                            : run_observed(op);
  if (!status.ok()) {
    return Error{status.error().code, fmt::format("op {} ({}) failed: {}", op, context_.compiled.graph().op(op).name,
                                                  status.error().message)};
  }
  const Seconds in_fast = context_.progress.seconds_since_step_start() - span.begin;
  delays_.add(profile::op_seconds_with(in_fast, context_.resolved.emulated[as_index(op)]) - in_fast);
  span.end = context_.progress.seconds_since_step_start();
  return {};
}

// Whatever is or could come under way before this op is done first, ops of other processors too. Lanes hold transfers
// in the order of after_op, so none of these waits for a later op.
Status ComputeLane::run_observed(graph::OpIndex op) {
  Progress& progress = context_.progress;
  const auto& operands = context_.resolved.operands[as_index(op)];
  expect_help(false);
  for (graph::OpIndex earlier = 0; earlier < op; ++earlier) {
    if (!progress.op_done(earlier) && !progress.wait_for_op(earlier, processor_)) return progress.failure();
  }
  const auto& transfers = context_.program.transfers;
  for (program::TransferIndex transfer = 0; transfer < as_id<program::TransferIndex>(transfers.size()); ++transfer) {
    if (transfers[as_index(transfer)].after_op >= op || progress.transfer_done(transfer)) continue;
    if (!progress.wait_for_transfer(transfer, processor_)) return progress.failure();
  }
  expect_help(true);
  SLUICE_RETURN_IF_ERROR(context_.observer->before_op(op, operands));
  const Status status = context_.compiled.run(op, operands, *context_.step);
  context_.observer->after_op(op);
  return status;
}

Status ComputeLane::finish_step() {
  Progress& progress = context_.progress;
  delays_.settle();
  expect_help(false);
  const Seconds begin = progress.seconds_since_step_start();
  for (const std::vector<graph::OpIndex>& lane : context_.ops_of) {
    if (!lane.empty() && !progress.wait_for_op(lane.back(), processor_)) return progress.failure();
  }
  for (program::TransferIndex transfer = 0; transfer < as_id<program::TransferIndex>(context_.program.transfers.size());
       ++transfer) {
    if (progress.transfer_done(transfer)) continue;
    if (!progress.wait_for_transfer(transfer, processor_)) return progress.failure();
  }
  context_.trace.step_seconds = progress.seconds_since_step_start();
  context_.trace.stall_seconds += context_.trace.step_seconds - begin;
  return {};
}

// The compute threads copy between ops, not while they wait (TransferEngine::help).
void ComputeLane::expect_help(bool expected) {
  if (!is_main()) return;
  for (const auto& link : context_.links) link->expect_help(expected);
}

void ComputeLane::name_thread() const {
  const std::string& name = context_.machine.processors.at(as_index(processor_)).name;
  (void)pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());  // the kernel takes 15 characters
}

}  // namespace sluice::exec

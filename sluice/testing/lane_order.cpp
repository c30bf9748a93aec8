#include "sluice/testing/lane_order.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"

namespace sluice::testing {
namespace {

std::optional<std::string> awaited_too_little(const program::StepTimes& step, const auto& instruction, Seconds begin,
                                              const std::string& what) {
  for (const program::TransferIndex wait : instruction.waits) {
    if (begin < step.transfers[as_index(wait)].end) return fmt::format("{} began before transfer {} ended", what, wait);
  }
  for (const graph::OpIndex wait : instruction.op_waits) {
    if (begin < step.ops[as_index(wait)].end) return fmt::format("{} began before op {} ended", what, wait);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_out_of_turn(const program::Program& program, const program::StepTimes& step) {
  for (const std::vector<program::TransferIndex>& lane : program.lanes) {
    Seconds free = 0;
    for (const program::TransferIndex index : lane) {
      const program::TransferInstruction& transfer = program.transfers[as_index(index)];
      const program::Span& span = step.transfers[as_index(index)];
      const std::string name = fmt::format("transfer {}", index);
      if (span.end < span.begin) return name + " ended before it began";
      if (span.begin < free) return name + " began before the one ahead of it in its lane ended";
      if (transfer.after_op >= 0 && span.begin < step.ops[as_index(transfer.after_op)].end) {
        return fmt::format("{} began before op {} ended", name, transfer.after_op);
      }
      if (auto wrong = awaited_too_little(step, transfer, span.begin, name)) return wrong;
      free = span.end;
    }
  }
  std::vector<Seconds> free(program::compute_lanes(program).size(), 0);  // by ProcessorId
  for (const program::ComputeInstruction& op : program.compute) {
    const program::Span& span = step.ops[as_index(op.op)];
    const std::string name = fmt::format("op {}", op.op);
    Seconds& previous = free[as_index(op.processor)];
    if (span.begin < previous) return name + " began before the one ahead of it on its processor ended";
    if (auto wrong = awaited_too_little(step, op, span.begin, name)) return wrong;
    previous = span.end;
  }
  return std::nullopt;
}

}  // namespace sluice::testing

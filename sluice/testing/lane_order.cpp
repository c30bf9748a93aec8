#include "sluice/testing/lane_order.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"

namespace sluice::testing {
namespace {

std::optional<std::string> awaited_too_little(const StepTimes& step, const auto& instruction, Seconds begin,
                                              const std::string& what) {
  for (const TransferIndex wait : instruction.waits) {
    if (begin < step.transfers[as_index(wait)].end) return fmt::format("{} began before transfer {} ended", what, wait);
  }
  for (const OpIndex wait : instruction.op_waits) {
    if (begin < step.ops[as_index(wait)].end) return fmt::format("{} began before op {} ended", what, wait);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_out_of_turn(const Program& program, const StepTimes& step) {
  for (const std::vector<TransferIndex>& lane : program.lanes) {
    Seconds free = 0;
    for (const TransferIndex index : lane) {
      const TransferInstruction& transfer = program.transfers[as_index(index)];
      const Span& span = step.transfers[as_index(index)];
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
  std::vector<Seconds> free(compute_lanes(program).size(), 0);  // by ProcessorId
  for (const ComputeInstruction& op : program.compute) {
    const Span& span = step.ops[as_index(op.op)];
    const std::string name = fmt::format("op {}", op.op);
    Seconds& previous = free[as_index(op.processor)];
    if (span.begin < previous) return name + " began before the one ahead of it on its processor ended";
    if (auto wrong = awaited_too_little(step, op, span.begin, name)) return wrong;
    previous = span.end;
  }
  return std::nullopt;
}

}  // namespace sluice::testing

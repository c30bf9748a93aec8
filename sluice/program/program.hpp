// A verified plan lowered for running: one instruction list per lane, explicit dependencies, no times. The simulator
// and the executor interpret the same Program, so that a prediction and a run differ only in durations.
//
// Lanes: compute, which runs ops in order; and one per link, which *starts* its transfers in order (several may be
// under way at once). A transfer may start when op `after_op` is done, its lane's earlier transfers have started, and
// every transfer in `waits` is done. An op may start when the previous op and every transfer in its `waits` are done.
// All instructions of a step finish before the next step starts.
//
// Transfers are in the order of the plan's migrations; those of a block's members are one transfer. Every wait points
// to an instruction that comes earlier in plan order (transfers issued after op k-1, then op k), so a Program cannot
// deadlock. Waits are exactly what the bytes demand (hazard_tracker.hpp), without those that follow from others.
//
// Cost of lowering: about linear in operands and migrations (3,000 ops: a few ms).
#pragma once

#include <vector>

#include "sluice/plan/plan.hpp"

namespace sluice {

using TransferIndex = std::int32_t;

struct Location {
  TierId tier = 0;
  Bytes offset = 0;
  bool operator==(const Location&) const = default;
};

struct ComputeInstruction {
  OpIndex op = 0;
  std::vector<Location> operands;  // inputs then outputs
  std::vector<TransferIndex> waits;
};

struct TransferPart {
  TensorId tensor = 0;
  Bytes offset = 0;  // from the transfer's first byte
  bool operator==(const TransferPart&) const = default;
};

struct TransferInstruction {
  TensorId tensor = 0;  // at the first byte
  LinkId link = 0;
  Location from;
  Location to;
  Bytes bytes = 0;  // rounded up to kTensorAlignment
  OpIndex after_op = kStepStart;
  std::vector<TransferIndex> waits;
  std::vector<TransferPart> others;  // a block's other members, by offset
};

struct Program {
  std::vector<Bytes> arena_bytes;                 // by TierId: what to reserve
  std::vector<ComputeInstruction> compute;        // by OpIndex
  std::vector<TransferInstruction> transfers;     // in plan order
  std::vector<std::vector<TransferIndex>> lanes;  // by LinkId
  // By TensorId, between steps: where each persistent tensor is, and where each output can be read. Others: nothing.
  std::vector<Location> step_start;
};

// `plan` must have passed verify_plan() for this graph and machine.
Program lower_plan(const Graph& graph, const Machine& machine, const Plan& plan);

}  // namespace sluice

// A verified plan lowered for running: one instruction list per lane, explicit dependencies, no times. The simulator
// and the executor interpret the same Program by the same rules, so that a prediction and a run differ only in
// durations.
//
// Lanes: one for the ops of each processor, and one per link.
//   - An op starts when the previous op of its processor, every transfer in its `waits` and every op in its `op_waits`
//     are done.
//   - A link's lane is a queue. A transfer joins it, in the lane's order, when op `after_op`, every transfer in `waits`
//     and every op in `op_waits` are done: one that may not join yet holds up those behind it.
//   - The link serves the queue first come, first served, one transfer at a time: a transfer begins when it has joined
//     and the one before it has ended, and transfers end in the lane's order.
//   - All instructions of a step are done before the next step starts.
//
//   joined       t3   t4 t5
//   link          |--t3----|--t4--|--t5------|
//
// To keep its device busy an engine may move the next transfer's first bytes before the last bytes of the one before it
// have arrived. This is not visible: a transfer that is finished early counts as ended when its turn comes
// (exec/lane.hpp). No wait of a Program is left out because of a lane's order, so only its times depend on this rule,
// not its results.
//
// Transfers are in the order of the plan's migrations; those of a block's members are one transfer. Every wait points
// to an instruction that comes earlier in plan order (transfers issued after op k-1, then op k), so a Program cannot
// deadlock. Waits are exactly what the bytes demand (hazard_tracker.hpp), without those that follow from others.
//
// Cost of lowering: about linear in operands and migrations (3,000 ops: a few ms), in addition to verifying
// (verifier.hpp).
#pragma once

#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::program {

using TransferIndex = std::int32_t;

struct Location {
  memory::TierId tier = 0;
  Bytes offset = 0;  // an address: in the fast tier perhaps one of a stitch
  bool operator==(const Location&) const = default;
};

struct ComputeInstruction {
  graph::OpIndex op = 0;
  std::vector<Location> operands;  // inputs then outputs
  std::vector<TransferIndex> waits;
  std::vector<graph::OpIndex> op_waits = {};  // of other processors
  ProcessorId processor = kMainProcessor;
};

struct TransferPart {
  graph::TensorId tensor = 0;
  Bytes offset = 0;  // from the transfer's first byte
  bool operator==(const TransferPart&) const = default;
};

struct TransferInstruction {
  graph::TensorId tensor = 0;  // at the first byte
  memory::LinkId link = 0;
  Location from;
  Location to;
  Bytes bytes = 0;  // rounded up to kBlockAlignment
  graph::OpIndex after_op = plan::kStepStart;
  std::vector<TransferIndex> waits;
  std::vector<TransferPart> others;  // a block's other members, by offset
  // The residency where it lies encoded, or will: it decodes towards tier 0, encodes away from it. -1: moved as it is.
  plan::ResidencyIndex encoded = -1;
  std::vector<graph::OpIndex> op_waits = {};  // of other processors than that of `after_op`
};

struct Program {
  std::vector<Bytes> arena_bytes;                 // by TierId: what to reserve
  std::vector<memory::Stitch> stitches;           // of the fast arena, behind it
  Bytes staging_begin = 0;                        // what follows in the fast arena is for encoding, if there is any
  std::vector<ComputeInstruction> compute;        // by OpIndex
  std::vector<TransferInstruction> transfers;     // in plan order
  std::vector<std::vector<TransferIndex>> lanes;  // by LinkId
  // By TensorId, between steps: where each persistent tensor is, and where each output can be read. Others: nothing.
  std::vector<Location> step_start;
};

// By ProcessorId, up to the last one that runs any: its ops, in order. The main processor has an entry in any case.
std::vector<std::vector<graph::OpIndex>> compute_lanes(const Program& program);

// Whether the plan can be run: kMismatch with what verify_plan() finds.
Status check_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan);

// The only way from a plan to a Program: checks the plan first, whoever made it and in every build. Errors: those of
// check_plan().
Result<Program> lower_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan);

}  // namespace sluice::program

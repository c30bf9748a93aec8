#include "tests/fuzz/accepted_plan.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/mixing_graph.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/start_bytes.hpp"
#include "tests/fuzz/fuzz_targets.hpp"
#include "tests/fuzz/guarded_tier.hpp"

namespace sluice::tests {
namespace {

constexpr Bytes kMostArena = 64 * kMiB;  // of a plan that is run; larger ones are checked by their ranges alone
constexpr int kSteps = 2;

bool is_kept(const graph::Tensor& tensor) {
  return graph::is_persistent(tensor.role) || tensor.role == graph::Role::kOutput;
}

void run_op(testing::MixingGraph& ops, graph::OpIndex op, const std::vector<void*>& operands, std::int64_t step) {
  kernels::StepContext context;
  context.step = step;
  SLUICE_CHECK(ops.run(op, operands, context).ok(), "mixing never fails");
}

using Values = std::vector<std::vector<std::byte>>;  // by TensorId

// Each tensor in memory of its own, ops in the graph's order.
Values plain_values(const graph::Graph& graph) {
  testing::MixingGraph ops(graph, {.by_choice = true});
  Values values;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const graph::Tensor& tensor = graph.tensor(id);
    values.push_back(graph::is_persistent(tensor.role) ? testing::start_bytes(tensor, id)
                                                       : std::vector<std::byte>(as_index(tensor.bytes)));
  }
  for (int step = 0; step < kSteps; ++step) {
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      std::vector<void*> operands;
      for (const auto* side : {&graph.op(op).inputs, &graph.op(op).outputs}) {
        for (const graph::TensorId id : *side) operands.push_back(values[as_index(id)].data());
      }
      run_op(ops, op, operands, step);
    }
  }
  return values;
}

// A program's instructions, one after the other in plan order.
class SerialRun {
 public:
  SerialRun(const graph::Graph& graph, const program::Program& program)
      : program_(program), ops_(graph, {.by_choice = true}) {
    for (std::size_t tier = 0; tier < program.arena_bytes.size(); ++tier) {
      const bool stitched = tier == as_index(memory::kFastTier);
      tiers_.emplace_back(program.arena_bytes[tier], stitched ? std::span<const memory::Stitch>(program.stitches)
                                                              : std::span<const memory::Stitch>());
    }
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      if (!graph::is_persistent(graph.tensor(id).role)) continue;
      const std::vector<std::byte> bytes = testing::start_bytes(graph.tensor(id), id);
      std::copy(bytes.begin(), bytes.end(), at(program.step_start[as_index(id)]));
    }
  }

  void step(std::int64_t step) {
    std::size_t issued = 0;
    for (const program::ComputeInstruction& instruction : program_.compute) {
      for (; issued < program_.transfers.size() && program_.transfers[issued].after_op < instruction.op; ++issued) {
        move(program_.transfers[issued]);
      }
      std::vector<void*> operands;
      for (const program::Location& operand : instruction.operands) operands.push_back(at(operand));
      run_op(ops_, instruction.op, operands, step);
    }
    for (; issued < program_.transfers.size(); ++issued) move(program_.transfers[issued]);
  }

  bool holds(graph::TensorId id, const std::vector<std::byte>& bytes) {
    return std::equal(bytes.begin(), bytes.end(), at(program_.step_start[as_index(id)]));
  }

 private:
  std::byte* at(const program::Location& place) { return tiers_[as_index(place.tier)].data() + place.offset; }
  void move(const program::TransferInstruction& transfer) {
    std::memmove(at(transfer.to), at(transfer.from), as_index(transfer.bytes));
  }

  const program::Program& program_;
  testing::MixingGraph ops_;
  std::vector<GuardedTier> tiers_;
};

// Within the arena, or within one stitch (which memory_behind() checks).
void check_range(const program::Program& program, const program::Location& place, Bytes bytes) {
  SLUICE_CHECK(place.offset >= 0 && bytes >= 0, "a range");
  const Interval<Bytes> addresses{place.offset, place.offset + bytes};
  const auto arena = program.arena_bytes.at(as_index(place.tier));
  const bool fast = place.tier == memory::kFastTier;
  for (const Interval<Bytes>& memory :
       fast ? memory::memory_behind(program.stitches, addresses) : std::vector{addresses}) {
    SLUICE_CHECK(memory.begin >= 0 && memory.end <= arena,
                 fmt::format("bytes [{}, {}) of an arena of {}", memory.begin, memory.end, arena));
  }
}

void check_ranges(const graph::Graph& graph, const memory::Machine& machine, const program::Program& program) {
  for (const program::ComputeInstruction& instruction : program.compute) {
    const graph::Op& op = graph.op(instruction.op);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const graph::TensorId id = i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()];
      check_range(program, instruction.operands[i], graph.tensor(id).bytes);
      SLUICE_CHECK(instruction.operands[i].offset % plan::kOperandAlignment == 0, "aligned for kernels");
      SLUICE_CHECK(machine.addresses(instruction.processor, instruction.operands[i].tier), "within its reach");
    }
  }
  for (const program::TransferInstruction& transfer : program.transfers) {
    for (const program::Location& place : {transfer.from, transfer.to}) {
      check_range(program, place, transfer.bytes);
      SLUICE_CHECK(place.offset % memory::kBlockAlignment == 0 && transfer.bytes % memory::kBlockAlignment == 0,
                   "blocks");
    }
  }
  SLUICE_CHECK(program.staging_begin >= 0, "room for encoding");
}

}  // namespace

void verify_and_run(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan) {
  ++plan_counts().verified;
  const std::vector<plan::Violation> violations = plan::verify_plan(graph, machine, plan);
  SLUICE_CHECK(violations.size() <= 20, "at most twenty");
  if (!violations.empty()) return;
  ++plan_counts().accepted;
  const program::Program program = program::lower_plan(graph, machine, plan).value();
  const plan::PlanGraph step(graph, plan);
  check_ranges(step.graph(), machine, program);
  for (std::uint64_t order = 0; order < 2; ++order) {
    const auto race = testing::find_race(step.graph(), program, order);
    SLUICE_CHECK(!race, race.value_or(""));
  }
  for (const Bytes bytes : program.arena_bytes) {
    if (bytes > kMostArena) return;
  }
  SerialRun run(step.graph(), program);
  for (int i = 0; i < kSteps; ++i) run.step(i);
  const Values wanted = plain_values(graph::chosen_step(graph, plan::choices_by_op(plan, graph).value()).graph);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const graph::Tensor& tensor = graph.tensor(id);
    SLUICE_CHECK(!is_kept(tensor) || run.holds(id, wanted[as_index(id)]), "other bits in " + tensor.name);
  }
}

}  // namespace sluice::tests

// The values of a step, who makes them, and which of them may be forgotten because they can be made again.
//
// A tensor is a storage, and ops in place write it more than once: each time it holds another value. What is evicted and
// made again is a value.
//
//   op                          first run               again
//   0 conv2d x, w > a           reads x, w, makes a     the same
//   1 batch_norm a > a, stats   reads a, makes a', stats    apply: reads a, stats, makes a' (op_traits.hpp)
//   2 update w, dw > w          reads w, makes w'       never
//
// An op runs again where its kind may (may_repeat(): the rule of plans). What it reads must be there or be made again
// itself, down to values that stay: parameters, the step's input, what runs once only. So a value can be made again until
// the first op that overwrites one of those. It *may be evicted* if that is not before its last use; then it is never
// missed for good. What stays is held until nobody can need it any more, not even to make something else again.
// Of an op in place only what overwrites is evicted, not what it makes beside that: it would have to run beside its own
// result.
//
// Ops of the graph that only make again what an op before has made (value_numbers.hpp) are left out: when to do that is
// decided while the step runs. "Op k" is the k-th of those that are left.
//
// Pure functions of the graph. O(operands).
#pragma once

#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::policies {

using ValueId = std::int32_t;

struct StepValue {
  graph::TensorId tensor = 0;
  graph::OpIndex maker = graph::kBeforeTheStep;
  Bytes bytes = 0;
  graph::OpIndex last_use =
      0;  // the op that reads it last, else its maker; op_count: it is there when the step has ended
  graph::OpIndex needed_until = 0;  // the same, with the ops for which something else is made of it again
  bool persistent = false;          // it lies in its tensor's own place
  bool evictable = false;
};

// One way to run an op. Operands are in the kernel's order; workspaces are values, too, that nobody reads.
struct OpRun {
  graph::OpIndex slot = 0;  // of StepValues::kernels
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

struct StepValues {
  // Of the given graph. Slot k runs op k; those behind the ops run them again.
  graph::Rescheduled kernels;
  std::vector<StepValue> values;
  std::vector<OpRun> first;                       // by op
  std::vector<OpRun> again;                       // by op; without outputs where it never runs again
  std::vector<std::vector<ValueId>> made_of;      // by value that may be evicted: others of the kind that its op reads
  std::vector<std::vector<ValueId>> makes;        // the same edges from the other end
  std::vector<std::vector<ValueId>> last_needed;  // by op: values with that needed_until

  bool is_first(graph::OpIndex slot) const { return as_index(slot) < first.size(); }
};

StepValues find_step_values(const graph::Graph& graph);

}  // namespace sluice::policies

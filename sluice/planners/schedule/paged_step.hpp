// A step in which tensors come when an op finds them missing, and others leave when there is no room: who leaves is the
// planner's rule. Nothing is fetched ahead; planners that fetch ahead move the pieces' begins afterwards.
//
//   capacity 3   op     0 a      1 b      2 c      3 d a        d needs room, and a is an operand
//                there  a        a b      a b c    a c d        b leaves, where the rule names it before c
//
// A tensor is freed when it is dead. A step has to end as it began: the persistent tensors in the fast tier between
// steps are found by repeating the step until each tensor it started with was used before it was evicted, and is there
// again at the end. A persistent tensor that the step's last op uses cannot be written back before the step ends, and
// is never evicted.
//
// Cost: (uses + evictions) x log(tensors), a few times. Threads: none of its own; calls do not share anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice::planners {

// A step's ops by slot: in the graph's order, or in another one in which each runs once. What is referred to must
// outlive it.
struct PagedOps {
  const graph::Graph& graph;                                                 // for its tensors
  const graph::Liveness& liveness;                                           // `uses` and `ranges` by slot
  IdVector<graph::OpIndex, std::span<const graph::TensorId>> operands = {};  // each once

  graph::OpIndex op_count() const { return as_id<graph::OpIndex>(operands.size()); }
};

struct PagingRule {
  // The least leaves first. `touched`: the slot that used the tensor last; kStepStart: it was there when the step
  // began.
  std::function<std::int64_t(graph::TensorId, graph::OpIndex touched)> rank;
  // By tensor: who comes takes the place of one of its own class while there is one. Empty: all are of one class.
  IdVector<graph::TensorId, int> class_of = {};
  plan::Cause leaves = plan::Cause::kUnsaid;
};

// By tensor. A piece ends where its room is needed, and is evicted right before. Nothing where some op's operands, with
// what may not leave, exceed the capacity.
std::optional<IdVector<graph::TensorId, TensorSchedule>> schedule_paged(const PagedOps& ops, Bytes capacity,
                                                                        const PagingRule& rule);

}  // namespace sluice::planners

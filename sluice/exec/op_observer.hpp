// An observer that sees a step op by op, at the addresses where the ops find their operands.
//
// Called on the compute lane. While an observer is there, every transfer that could be under way during an op has
// ended before before_op(): nothing but the op's own threads touches its operands until after_op() returns. That takes
// overlap away and makes a step slower; it changes no result. Without an observer an op pays one comparison.
#pragma once

#include <span>

#include "sluice/base/result.hpp"
#include "sluice/graph/ops/op.hpp"

namespace sluice::exec {

class OpObserver {
 public:
  virtual ~OpObserver() = default;
  // `operands` as CompiledGraph::run() gets them. An error ends the step.
  virtual Status before_op(graph::OpIndex op, std::span<void* const> operands) = 0;
  virtual void after_op(graph::OpIndex op) = 0;  // also after an op that failed
};

}  // namespace sluice::exec

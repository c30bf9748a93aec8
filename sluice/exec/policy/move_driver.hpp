// Who makes a policy's decisions true for a running step. One charges the time of moves that are not made
// (emulated_moves.hpp), the other makes them (performed_moves.hpp).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "sluice/memory/move.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::exec {

class MoveDriver {
 public:
  virtual ~MoveDriver() = default;

  // Makes these moves, which are to be over before the op runs that accesses these.
  virtual Status before_op(std::span<const policies::Access> accesses, const policies::AccessCharge& charge,
                           const memory::MoveList& moves) = 0;

  // The op took `seconds`, and found its operands as `charge` says.
  virtual void after_op(Seconds seconds, const policies::AccessCharge& charge) = 0;

  // These moves go on beside the ops that follow.
  virtual void begin(const memory::MoveList& moves) = 0;

  // All ops have run.
  virtual Status end_step() = 0;

  virtual std::string note() const = 0;  // of what users should know: one sentence without a name at its start
};

}  // namespace sluice::exec

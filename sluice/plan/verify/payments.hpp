// What a byte pays for each part of its life, at given prices (prices.hpp): for the certificate, and for
// planners/joint, which seeks the gaps that are cheap to be away in.
//
// A part is a gap: from a use (or the step's start) behind op `from` to a use (or the step's end) at op `to`. The uses
// themselves are not in it. `share`: of a byte, what the link moves. Every question is O(to - from).
#pragma once

#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::plan {

inline constexpr graph::OpIndex kBeforeFirst = -1;  // a gap's `from`: the step's start

class Payments {
 public:
  Payments(const TwoWayLink& link, const StepPrices& prices);

  double stays(graph::OpIndex from, graph::OpIndex to) const { return rent(to) - rent(from + 1); }
  // From slow memory, at the best moment: from the next op on it takes room.
  double comes(graph::OpIndex from, graph::OpIndex to, double share) const;
  // The same where op `reader` behind which the gap begins has read it in slow memory: it may come while that runs.
  double comes_behind_reader(graph::OpIndex reader, graph::OpIndex to, double share) const;
  // Written to slow memory at the best moment, and gone then.
  double leaves(graph::OpIndex from, graph::OpIndex to, double share) const;
  // Written while it stays.
  double is_copied(graph::OpIndex from, graph::OpIndex to, double share) const;
  // Written while an op reads it.
  double is_copied_beside(graph::OpIndex reader, double share) const;
  // For the room that it takes while an op uses it in the fast tier.
  double is_used_in_fast(graph::OpIndex op) const { return rent(op + 1) - rent(op); }
  // By the whole tensor, for the op's use of it in slow memory.
  double is_used_in_place(graph::OpIndex op, const UseInPlace& use) const;

 private:
  double rent(graph::OpIndex op) const { return rent_[as_index(op)]; }

  std::vector<double> rent_;  // of a byte that is in the fast tier while ops [0, k) run, by k
  std::vector<double> in_run_, out_run_, in_stall_, out_stall_;
  std::vector<double> second_, reading_;  // by op: of one more second of its slot, and of reading beside it
};

}  // namespace sluice::plan

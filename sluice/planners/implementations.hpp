// Which implementation an op should have, by time and workspace: the rules that planners choose kernels with.
//
// An op's implementations differ in time and in the scratch memory that they take while they run. Times are the
// profile's (Profile::choices); of one that nobody timed it is that of the first. Ops keep the first one where another
// is not faster by more than two measurements of one implementation differ.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice::planners {

// Times of an op that differ by less are the same: two measurements of one implementation differ as much.
inline constexpr double kClearlyFasterKernel = 0.97;

class Implementations {
 public:
  // `request` must outlive this object.
  explicit Implementations(const PlanRequest& request);

  // What ops have anyway.
  static std::vector<graph::OpChoice> first_ones(const graph::Graph& graph);

  // By op: the fastest of those whose operands and workspace together stay within `room`; where none does, the one with
  // the smallest workspace.
  std::vector<graph::OpChoice> fastest_within(Bytes room) const;

  // By op: the one whose time and workspace cost least together, of those that the budget has room for.
  // `seconds_per_byte`: by op, what a byte of workspace costs.
  std::vector<graph::OpChoice> cheapest_at(std::span<const double> seconds_per_byte) const;

 private:
  Bytes bytes_beside_workspace(const graph::Op& op) const;
  Seconds seconds(graph::OpIndex op, std::int32_t implementation) const;
  std::int32_t pick(graph::OpIndex op, Bytes room) const;
  std::int32_t pick_at(graph::OpIndex op, double seconds_per_byte) const;

  const PlanRequest& request_;
  const graph::Graph& graph_;
  IdVector<graph::OpIndex, Bytes> operand_bytes_;
};

}  // namespace sluice::planners

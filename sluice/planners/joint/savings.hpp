// Which ops of a step are worth running again, and which are not, by prices of memory and links.
//
// Between two uses of a tensor its bytes pay rent, or for the way to slow memory and back (plan/verify/payments.hpp).
// Made again directly before the second use, they pay neither. What that costs: the time of the ops that made them, and
// that these find their operands there, which wait longer, are fetched once more, or are made again themselves.
//
// The other way round, where an op makes again what is there or could be (graph/value_numbers.hpp), leaving it out
// saves its time, and the older value pays until it is read in its stead.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/verify/payments.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

// What the ops of a step take, but for those that make a value again.
Seconds compute_without_repetitions(const graph::Graph& graph, const profile::CostModel& costs);

// A change of a step, in its own slots, and about what it saves while prices stay as they are.
struct Saving {
  double seconds = 0;
  graph::OpIndex at = 0;
  std::vector<graph::OpIndex> again;  // slots to run again directly before slot `at`; empty: slot `at` is left out
  std::set<graph::TensorId> made;     // other than before
  std::set<graph::TensorId> read;
};

class SavingSearch {
 public:
  // `graph` is the step. The arguments must outlive this object.
  SavingSearch(const graph::Graph& graph, const profile::CostModel& costs, const plan::TwoWayLink& link,
               const plan::StepPrices& prices);

  // The largest savings first.
  std::vector<Saving> makings() const;
  std::vector<Saving> omissions() const;

 private:
  // What makes a tensor again, and what that costs.
  struct Making {
    std::vector<graph::OpIndex> slots;
    std::set<graph::TensorId> made;
    std::set<graph::TensorId> read;
    double costs = 0;
  };

  double saves_instead(graph::OpIndex op, graph::TensorId made, graph::TensorId older) const;

  double least(graph::OpIndex from, graph::OpIndex to, bool has_copy) const;
  double room(graph::OpIndex slot) const;
  double second(graph::OpIndex slot) const;
  std::vector<graph::OpIndex> writers_of(graph::TensorId id, graph::OpIndex before) const;
  graph::OpIndex last_write(graph::TensorId id, graph::OpIndex before) const;

  std::optional<Making> rematerialized(graph::TensorId id, graph::OpIndex before, int depth) const;
  bool add_writer(graph::OpIndex writer, graph::TensorId id, graph::OpIndex before, int depth, Making& making) const;
  bool add_operand(graph::TensorId id, graph::OpIndex writer, graph::OpIndex before, int depth, Making& making) const;
  static bool is_apart(const Making& a, const Making& b);
  double extra_use(graph::TensorId id, graph::OpIndex slot, graph::OpIndex after) const;

  const graph::Graph& graph_;
  const profile::CostModel& costs_;
  const plan::StepPrices& prices_;
  plan::Payments payments_;
  graph::Liveness liveness_;
  std::vector<std::vector<graph::OpIndex>> writers_;  // by tensor, ascending
};

// The clearest savings that have nothing to do with one another, up to `most` seconds together.
std::vector<Saving> choose_apart(std::vector<Saving> savings, Seconds most);

}  // namespace sluice::planners

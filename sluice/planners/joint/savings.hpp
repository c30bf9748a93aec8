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

namespace sluice {

// What the ops of a step take, but for those that make a value again.
Seconds compute_without_repetitions(const Graph& graph, const CostModel& costs);

// A change of a step, in its own slots, and about what it saves while prices stay as they are.
struct Saving {
  double seconds = 0;
  OpIndex at = 0;
  std::vector<OpIndex> again;  // slots to run again directly before slot `at`; empty: slot `at` is left out
  std::set<TensorId> made;     // other than before
  std::set<TensorId> read;
};

class SavingSearch {
 public:
  // `graph` is the step. The arguments must outlive this object.
  SavingSearch(const Graph& graph, const CostModel& costs, const TwoWayLink& link, const StepPrices& prices);

  // The largest savings first.
  std::vector<Saving> makings() const;
  std::vector<Saving> omissions() const;

 private:
  // What makes a tensor again, and what that costs.
  struct Making {
    std::vector<OpIndex> slots;
    std::set<TensorId> made;
    std::set<TensorId> read;
    double costs = 0;
  };

  double saves_instead(OpIndex op, TensorId made, TensorId older) const;

  double least(OpIndex from, OpIndex to, bool has_copy) const;
  double room(OpIndex slot) const;
  double second(OpIndex slot) const;
  std::vector<OpIndex> writers_of(TensorId id, OpIndex before) const;
  OpIndex last_write(TensorId id, OpIndex before) const;

  std::optional<Making> made_again(TensorId id, OpIndex before, int depth) const;
  bool add_writer(OpIndex writer, TensorId id, OpIndex before, int depth, Making& making) const;
  bool add_operand(TensorId id, OpIndex writer, OpIndex before, int depth, Making& making) const;
  static bool is_apart(const Making& a, const Making& b);
  double extra_use(TensorId id, OpIndex slot, OpIndex after) const;

  const Graph& graph_;
  const CostModel& costs_;
  const StepPrices& prices_;
  Payments payments_;
  Liveness liveness_;
  std::vector<std::vector<OpIndex>> writers_;  // by tensor, ascending
};

// The clearest savings that have nothing to do with one another, up to `most` seconds together.
std::vector<Saving> choose_apart(std::vector<Saving> savings, Seconds most);

}  // namespace sluice

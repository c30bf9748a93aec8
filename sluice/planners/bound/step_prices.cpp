#include "sluice/planners/bound/step_prices.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/planners/bound/slot_rows.hpp"

namespace sluice::planners {
namespace {

constexpr int kNone = -1;

// Of op k, what it uses in slow memory: bytes, and the time that reading and the rest of it take.
struct OpFlow : SlotFlow {
  std::vector<Term> in_place, reading, added;
};

class FluidProgram : SlotProgram<OpFlow> {
 public:
  explicit FluidProgram(const plan::BoundedStep& step)
      : SlotProgram(step, step.graph.op_count(),
                    std::accumulate(step.op_seconds.begin(), step.op_seconds.end(), Seconds{0})) {
    for (graph::OpIndex slot = 0; slot <= end_; ++slot) {
      add_slot(slot);
      if (slot < end_ && !step_.in_place.empty()) longer_.push_back(program_.add({.cost = 1}));
    }
    const graph::Liveness liveness = graph::analyze_liveness(step.graph);
    for (graph::TensorId id = 0; id < step.graph.tensor_count(); ++id) add_tensor(id, liveness);
    add_rows();
  }

  plan::StepPrices solve(Seconds time_limit) const {
    const std::vector<double> found = find_row_prices(program_, time_limit);
    if (found.empty()) return free_prices(as_index(end_));
    plan::StepPrices prices = prices_of(rows_, found, time_unit_);
    for (std::size_t op = 0; op < reading_row_.size(); ++op) {
      prices.reading.push_back(below_rest(std::max(0.0, -found[as_index(reading_row_[op])]), prices.run[op]));
    }
    return prices;
  }

 private:
  // Uses of a tensor by ops in a row: all find a byte in one place.
  struct Stretch {
    graph::OpIndex first = 0;
    graph::OpIndex last = 0;
    bool writes = false;
    int slow = kNone;  // column: how much of it is used in slow memory
  };

  // What is left of a second, by whose rounded sum the certificate holds a price of reading.
  static double below_rest(double reading, const plan::SlotPrice& run) {
    constexpr double kBelowRounding = 1 - 1e-12;
    return std::clamp(reading, 0.0, std::max(0.0, kBelowRounding - run[0] - run[1]));
  }

  void add_tensor(graph::TensorId id, const graph::Liveness& liveness) {
    const graph::Tensor& tensor = step_.graph.tensor(id);
    const std::vector<graph::Use>& uses = liveness.uses[id];
    if (uses.empty()) return;
    const double bytes = in_units(tensor.bytes);
    if (tensor.bytes < kLeastMoving) {
      for (graph::OpIndex op = liveness.ranges[id].begin; op < liveness.ranges[id].end; ++op) flow(op).pinned += bytes;
      return;
    }
    std::vector<Stretch> stretches;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      flow(uses[i].op).pinned += bytes;
      if (i == 0 || uses[i].op > uses[i - 1].op + 1) stretches.push_back({.first = uses[i].op});
      stretches.back().last = uses[i].op;
      stretches.back().writes = stretches.back().writes || uses[i].writes;
    }
    if (!step_.in_place.empty()) add_uses_in_place(stretches, uses, step_.in_place[as_index(id)], bytes);
    graph::is_persistent(tensor.role) ? add_persistent(stretches, bytes) : add_made(stretches, bytes);
  }

  // How much of it the ops of each stretch use in slow memory: there it takes their time instead of room.
  void add_uses_in_place(std::vector<Stretch>& stretches, const std::vector<graph::Use>& uses,
                         const std::vector<plan::UseInPlace>& in_place, double bytes) {
    auto stretch = stretches.begin();
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].op > stretch->last) ++stretch;
      if (stretch->slow == kNone) stretch->slow = program_.add({.upper = bytes});
      OpFlow& at = flow(uses[i].op);
      const double added = in_place[i].added / time_unit_ / bytes;
      at.in_place.push_back({stretch->slow, 1});
      at.reading.push_back({stretch->slow, in_place[i].reading / time_unit_ / bytes});
      at.added.push_back({stretch->slow, added});
      program_.columns[as_index(stretch->slow)].cost += added;
    }
  }

  void add_made(const std::vector<Stretch>& stretches, double bytes) {
    std::vector<Term> written;
    change(stretches.front(), written);
    for (std::size_t i = 1; i < stretches.size(); ++i) {
      add_gap(stretches[i - 1], stretches[i], bytes, written);
      change(stretches[i], written);
    }
  }

  // `home`: how much of it is in slow memory between steps. That much has a copy there until it is first written.
  void add_persistent(const std::vector<Stretch>& stretches, double bytes) {
    const int home = program_.add({.upper = bytes});
    std::vector<Term> written{{home, 1}};
    begin_gap(-1, stretches.front().first, bytes, home);
    comes_not(stretches.front(), home);
    change(stretches.front(), written);
    for (std::size_t i = 1; i < stretches.size(); ++i) {
      add_gap(stretches[i - 1], stretches[i], bytes, written);
      change(stretches[i], written);
    }
    write(stretches.back().last, bytes, home, written);
    within(stretches.back(), home);
    stay(stretches.back().last, end_, bytes, {home});
  }

  void add_gap(const Stretch& before, const Stretch& after, double bytes, std::vector<Term>& written) {
    const int gone = program_.add({.upper = bytes});
    write(before.last, bytes, gone, written);
    within(before, gone);
    begin_gap(before.last, after.first, bytes, gone);
    comes_not(after, gone);
  }

  // What is written in place has its copy there, and nothing else has.
  static void change(const Stretch& stretch, std::vector<Term>& written) {
    if (!stretch.writes) return;
    written.clear();
    if (stretch.slow != kNone) written.push_back({stretch.slow, 1});
  }

  // What ops use in slow memory is gone in the gaps beside them.
  void within(const Stretch& stretch, int gone) {
    if (stretch.slow != kNone) program_.rows.push_back({.terms = {{gone, 1}, {stretch.slow, -1}}, .lower = 0});
  }

  void comes_not(const Stretch& stretch, int gone) {
    within(stretch, gone);
    if (stretch.slow != kNone) flow(stretch.first).due.push_back({stretch.slow, -1});
  }

  void begin_gap(graph::OpIndex from, graph::OpIndex to, double bytes, int gone) {
    flow(to).due.push_back({gone, 1});
    stay(from, to, bytes, {gone});
  }

  void add_rows() {
    for (graph::OpIndex slot = 0; slot <= end_; ++slot) {
      add_arrivals(slot);
      add_writes(slot);
      add_stall_facets(slot);
      if (slot == end_) continue;
      add_staying(slot);
      add_room(slot);
      if (!longer_.empty()) add_reading(slot);
      add_run_facets(slot);
    }
  }

  // early(k) = early(k-1) + in while op k-1 ran + in during the stall - due at op k
  void add_arrivals(graph::OpIndex slot) {
    Row row{.terms = {{early_[as_index(slot)], 1}, {in_stall_[as_index(slot)], -1}}, .lower = 0, .upper = 0};
    if (slot > 0) append_terms(row.terms, {{early_[as_index(slot - 1)], -1}, {in_run_[as_index(slot - 1)], -1}}, 1);
    append_terms(row.terms, flow(slot).due, 1);
    program_.rows.push_back(std::move(row));
  }

  // What is written while an op runs was waiting before it.
  void add_writes(graph::OpIndex slot) {
    if (slot < end_) {
      program_.rows.push_back({.terms = {{waiting_[as_index(slot)], 1}, {out_run_[as_index(slot)], -1}}, .lower = 0});
    }
    Row row{.terms = {{waiting_[as_index(slot)], 1}, {out_stall_[as_index(slot)], 1}}, .lower = 0, .upper = 0};
    if (slot > 0) append_terms(row.terms, {{waiting_[as_index(slot - 1)], -1}, {out_run_[as_index(slot - 1)], 1}}, 1);
    append_terms(row.terms, flow(slot).gone, -1);
    program_.rows.push_back(std::move(row));
  }

  void add_room(graph::OpIndex slot) {
    rows_.room.push_back(count_of(program_.rows));
    Row row{.terms = {{staying_[as_index(slot)], 1}, {early_[as_index(slot)], 1}, {waiting_[as_index(slot)], 1}},
            .upper = in_units(step_.fast) - flow(slot).pinned};
    append_terms(row.terms, flow(slot).in_place, -1);
    program_.rows.push_back(std::move(row));
  }

  // By what reading is longer than the op, the slot is longer.
  void add_reading(graph::OpIndex slot) {
    reading_row_.push_back(count_of(program_.rows));
    Row row{.terms = {{longer_[as_index(slot)], -1}}, .upper = step_.op_seconds[as_index(slot)] / time_unit_};
    append_terms(row.terms, flow(slot).reading, 1);
    program_.rows.push_back(std::move(row));
  }

  // The slot is as long as its op, and what copies beside it and operands in slow memory cost.
  void add_run_facets(graph::OpIndex slot) {
    rows_.run.push_back(count_of(program_.rows));
    for (std::size_t f = 0; f < 2; ++f) {
      Row row{.terms = {{in_run_[as_index(slot)], link(step_.link.in[f] - step_.link.in_lost)},
                        {out_run_[as_index(slot)], link(step_.link.out[f] - step_.link.out_lost)}},
              .upper = step_.op_seconds[as_index(slot)] / time_unit_};
      if (!longer_.empty()) row.terms.push_back({longer_[as_index(slot)], -1});
      append_terms(row.terms, flow(slot).added, -1);
      program_.rows.push_back(std::move(row));
    }
  }

  std::vector<int> longer_;       // columns by op, where ops may use slow memory
  std::vector<int> reading_row_;  // by op
};

}  // namespace

plan::StepPrices find_prices(const plan::BoundedStep& step, Seconds time_limit) {
  return FluidProgram(step).solve(time_limit);
}

}  // namespace sluice::planners

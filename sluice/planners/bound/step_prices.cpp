#include "sluice/planners/bound/step_prices.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice {
namespace {

constexpr Bytes kLeastMoving = 16 * kKiB;
constexpr double kByteUnit = kMiB;  // the program counts bytes in MiB, and time in the mean time of an op

double in_units(Bytes bytes) { return static_cast<double>(bytes) / kByteUnit; }

class FluidProgram {
 public:
  explicit FluidProgram(const BoundedStep& step) : step_(step), ops_(step.graph.op_count()) {
    Seconds compute = 0;
    for (const Seconds seconds : step.op_seconds) compute += seconds;
    time_unit_ = compute > 0 ? compute / ops_ : 1;
    add_slots();
    const Liveness liveness = analyze_liveness(step.graph);
    for (TensorId id = 0; id < step.graph.tensor_count(); ++id) add_tensor(id, liveness);
    add_rows();
  }

  StepPrices solve(Seconds time_limit) const {
    StepPrices prices = free_prices();
    const std::vector<double> found = find_row_prices(program_, time_limit);
    if (found.empty()) return prices;
    const auto price = [&](int row) { return std::max(0.0, -found[as_index(row)]); };
    for (OpIndex op = 0; op < ops_; ++op) {
      prices.room[as_index(op)] = price(room_row_[as_index(op)]) * time_unit_ / kByteUnit;
      prices.run[as_index(op)] = slot_price(price(run_row_[as_index(op)]), price(run_row_[as_index(op)] + 1));
    }
    for (OpIndex slot = 0; slot <= ops_; ++slot) {
      SlotPrice stall = slot_price(price(stall_row_[as_index(slot)]), price(stall_row_[as_index(slot)] + 1));
      stall[0] = 1 - stall[1];  // a second of stall costs a second
      prices.stall[as_index(slot)] = stall;
    }
    return prices;
  }

 private:
  // Sums of a slot's row: what flows and changes there.
  struct Flow {
    std::vector<Term> due;      // must have come
    std::vector<Term> gone;     // must be written from here on
    std::vector<Term> leaving;  // of what stays: the gap begins behind op k - 1
    std::vector<Term> back;     // the gap has ended at op k
    double begins = 0;          // bytes whose gap begins behind op k - 1, were nothing gone
    double ends = 0;
    double pinned = 0;  // operands of op k, and what never moves
  };

  StepPrices free_prices() const {
    const auto ops = as_index(ops_);
    return {std::vector<double>(ops, 0), std::vector<SlotPrice>(ops, SlotPrice{0, 0}),
            std::vector<SlotPrice>(ops + 1, SlotPrice{1, 0})};
  }

  // Rounding may have made a little too much of the two.
  static SlotPrice slot_price(double first, double second) {
    const double scale = std::max(1.0, first + second);
    return {first / scale, std::min(second / scale, 1 - first / scale)};
  }

  double link(double seconds_per_byte) const { return seconds_per_byte * kByteUnit / time_unit_; }

  void add_slots() {
    for (OpIndex slot = 0; slot <= ops_; ++slot) {
      const bool last = slot == ops_;
      stall_.push_back(program_.add({.cost = 1}));
      in_stall_.push_back(program_.add({}));
      out_stall_.push_back(program_.add({}));
      early_.push_back(program_.add({}));
      waiting_.push_back(program_.add({.upper = last ? 0 : kUnbounded}));
      if (last) continue;
      in_run_.push_back(program_.add({.cost = link(step_.link.in_lost)}));
      out_run_.push_back(program_.add({.cost = link(step_.link.out_lost)}));
      staying_.push_back(program_.add({}));
    }
    flows_.resize(as_index(ops_) + 1);
  }

  void add_tensor(TensorId id, const Liveness& liveness) {
    const Tensor& tensor = step_.graph.tensor(id);
    const std::vector<Use>& uses = liveness.uses[id];
    if (uses.empty()) return;
    const double bytes = in_units(tensor.bytes);
    if (tensor.bytes < kLeastMoving) {
      for (OpIndex op = liveness.ranges[id].begin; op < liveness.ranges[id].end; ++op) flow(op).pinned += bytes;
      return;
    }
    for (const Use& use : uses) flow(use.op).pinned += bytes;
    is_persistent(tensor.role) ? add_persistent(uses, bytes) : add_made(uses, bytes);
  }

  void add_made(const std::vector<Use>& uses, double bytes) {
    std::vector<Term> written;
    for (std::size_t i = 1; i < uses.size(); ++i) {
      add_gap(uses[i - 1].op, uses[i].op, bytes, written);
      if (uses[i].writes) written.clear();
    }
  }

  // `home`: how much of it is in slow memory between steps. That much has a copy there until it is first written.
  void add_persistent(const std::vector<Use>& uses, double bytes) {
    const int home = program_.add({.upper = bytes});
    std::vector<Term> written{{home, 1}};
    begin_gap(-1, uses.front().op, bytes, home);
    if (uses.front().writes) written.clear();
    for (std::size_t i = 1; i < uses.size(); ++i) {
      add_gap(uses[i - 1].op, uses[i].op, bytes, written);
      if (uses[i].writes) written.clear();
    }
    const OpIndex last = uses.back().op;
    write(last, bytes, home, written);
    stay(last, ops_, bytes, home);
  }

  void add_gap(OpIndex from, OpIndex to, double bytes, std::vector<Term>& written) {
    if (to == from + 1) return;
    const int gone = program_.add({.upper = bytes});
    write(from, bytes, gone, written);
    begin_gap(from, to, bytes, gone);
  }

  // What is gone in a gap that begins behind op `from`: since it last changed, enough of it was or is now written.
  void write(OpIndex from, double bytes, int gone, std::vector<Term>& written) {
    const int more = program_.add({.upper = bytes});
    flow(from + 1).gone.push_back({more, 1});
    written.push_back({more, 1});
    Row row{.terms = written, .lower = 0};
    const auto same = std::ranges::find(row.terms, gone, &Term::column);
    if (same == row.terms.end()) {
      row.terms.push_back({gone, -1});
    } else {
      same->coefficient -= 1;  // the home itself: it was there
    }
    program_.rows.push_back(std::move(row));
  }

  void begin_gap(OpIndex from, OpIndex to, double bytes, int gone) {
    flow(to).due.push_back({gone, 1});
    stay(from, to, bytes, gone);
  }

  // In the slots between op `from` and op `to`, all but what is gone stays.
  void stay(OpIndex from, OpIndex to, double bytes, int gone) {
    if (to == from + 1) return;
    flow(from + 1).begins += bytes;
    flow(from + 1).leaving.push_back({gone, 1});
    if (to == ops_) return;
    flow(to).ends += bytes;
    flow(to).back.push_back({gone, -1});
  }

  Flow& flow(OpIndex slot) { return flows_[as_index(slot)]; }

  void add_rows() {
    for (OpIndex slot = 0; slot <= ops_; ++slot) {
      add_arrivals(slot);
      add_writes(slot);
      add_stall_facets(slot);
      if (slot == ops_) continue;
      add_staying(slot);
      add_room(slot);
      add_run_facets(slot);
    }
  }

  static void append(std::vector<Term>& terms, const std::vector<Term>& more, double sign) {
    for (const Term& each : more) {
      const auto same = std::ranges::find(terms, each.column, &Term::column);
      if (same == terms.end()) {
        terms.push_back({each.column, sign * each.coefficient});
      } else {
        same->coefficient += sign * each.coefficient;
      }
    }
  }

  // early(k) = early(k-1) + in while op k-1 ran + in during the stall - due at op k
  void add_arrivals(OpIndex slot) {
    Row row{.terms = {{early_[as_index(slot)], 1}, {in_stall_[as_index(slot)], -1}}, .lower = 0, .upper = 0};
    if (slot > 0) append(row.terms, {{early_[as_index(slot - 1)], -1}, {in_run_[as_index(slot - 1)], -1}}, 1);
    append(row.terms, flow(slot).due, 1);
    program_.rows.push_back(std::move(row));
  }

  // What is written while an op runs was waiting before it.
  void add_writes(OpIndex slot) {
    if (slot < ops_) {
      program_.rows.push_back({.terms = {{waiting_[as_index(slot)], 1}, {out_run_[as_index(slot)], -1}}, .lower = 0});
    }
    Row row{.terms = {{waiting_[as_index(slot)], 1}, {out_stall_[as_index(slot)], 1}}, .lower = 0, .upper = 0};
    if (slot > 0) append(row.terms, {{waiting_[as_index(slot - 1)], -1}, {out_run_[as_index(slot - 1)], 1}}, 1);
    append(row.terms, flow(slot).gone, -1);
    program_.rows.push_back(std::move(row));
  }

  void add_staying(OpIndex slot) {
    const Flow& at = flow(slot);
    Row row{.terms = {{staying_[as_index(slot)], 1}}};
    if (slot > 0) row.terms.push_back({staying_[as_index(slot - 1)], -1});
    append(row.terms, at.leaving, 1);
    append(row.terms, at.back, 1);
    row.lower = row.upper = at.begins - at.ends;
    program_.rows.push_back(std::move(row));
  }

  void add_room(OpIndex slot) {
    room_row_.push_back(static_cast<int>(program_.rows.size()));
    program_.rows.push_back(
        {.terms = {{staying_[as_index(slot)], 1}, {early_[as_index(slot)], 1}, {waiting_[as_index(slot)], 1}},
         .upper = in_units(step_.fast) - flow(slot).pinned});
  }

  void add_stall_facets(OpIndex slot) {
    stall_row_.push_back(static_cast<int>(program_.rows.size()));
    for (std::size_t f = 0; f < 2; ++f) {
      program_.rows.push_back({.terms = {{in_stall_[as_index(slot)], link(step_.link.in[f])},
                                         {out_stall_[as_index(slot)], link(step_.link.out[f])},
                                         {stall_[as_index(slot)], -1}},
                               .upper = 0});
    }
  }

  // The slot is as long as its op, and what copies beside it cost.
  void add_run_facets(OpIndex slot) {
    run_row_.push_back(static_cast<int>(program_.rows.size()));
    for (std::size_t f = 0; f < 2; ++f) {
      program_.rows.push_back({.terms = {{in_run_[as_index(slot)], link(step_.link.in[f] - step_.link.in_lost)},
                                         {out_run_[as_index(slot)], link(step_.link.out[f] - step_.link.out_lost)}},
                               .upper = step_.op_seconds[as_index(slot)] / time_unit_});
    }
  }

  const BoundedStep& step_;
  OpIndex ops_;
  Seconds time_unit_ = 1;
  IntegerProgram program_;
  std::vector<Flow> flows_;                                          // by slot
  std::vector<int> stall_, in_stall_, out_stall_, early_, waiting_;  // columns by slot
  std::vector<int> in_run_, out_run_, staying_;                      // columns by op
  std::vector<int> room_row_, run_row_, stall_row_;                  // of the last two the first of a pair
};

}  // namespace

StepPrices find_prices(const BoundedStep& step, Seconds time_limit) { return FluidProgram(step).solve(time_limit); }

}  // namespace sluice

#include "sluice/planners/bound/any_order_prices.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/bound/slot_rows.hpp"

namespace sluice::planners {
namespace {

constexpr Seconds kOnlyOnce = std::numeric_limits<Seconds>::infinity();

struct EpochFlow : SlotFlow {
  std::vector<Term> again;  // made again before it: bytes, and the time of each
};

Seconds compute_seconds(const plan::AnyOrder& order) {
  Seconds compute = 0;
  for (const auto& op : order.chain) compute += op.seconds;
  for (const plan::FloatingOp& op : order.floating) compute += op.seconds;
  return compute;
}

class EpochProgram : SlotProgram<EpochFlow> {
 public:
  EpochProgram(const plan::BoundedStep& step, const plan::AnyOrder& order)
      : SlotProgram(step, order.epochs(), compute_seconds(order)),
        order_(order),
        chain_seconds_(as_index(end_), 0),
        visitors_(as_index(end_)),
        returners_(as_index(end_)) {
    for (std::size_t k = 0; k < order.chain.size(); ++k) chain_seconds_[k + 1] = order.chain[k].seconds;
    add_slots();
    for (const plan::Life& life : order.lives) add_life(life);
    add_rows();
  }

  plan::StepPrices solve(Seconds time_limit) const {
    const std::vector<double> found = find_row_prices(program_, time_limit);
    return found.empty() ? free_prices(as_index(end_)) : prices_of(rows_, found, time_unit_);
  }

 private:
  void add_slots() {
    for (plan::Epoch slot = 0; slot <= end_; ++slot) {
      add_slot(slot);
      if (slot == end_) return;
      for (auto* columns : {&floating_, &visits_, &returns_, &returned_}) columns->push_back(program_.add({}));
    }
  }

  void add_life(const plan::Life& life) {
    const double bytes = in_units(life.bytes);
    const std::vector<plan::ChainUse>& uses = life.uses;
    if (life.bytes < kLeastMoving) {
      if (uses.empty()) return;
      const plan::Epoch end = std::max(uses.back().epoch, life.needed_later ? life.needed_later->epoch : 0);
      for (plan::Epoch epoch = uses.front().epoch; epoch <= end; ++epoch) flow(epoch).pinned += bytes;
      return;
    }
    for (const plan::ChainUse& use : uses) flow(use.epoch).pinned += bytes;
    if (life.persistent) {
      uses.empty() ? add_visitor(life, bytes) : add_persistent(life, bytes);
    } else if (!uses.empty()) {
      std::vector<Term> written;
      add_gaps(life, bytes, written);
    }
  }

  // What only an op that floats uses. What lives in slow memory between steps comes and goes when that op runs; the rest
  // stays, or leaves as the step begins and comes back for that op.
  void add_visitor(const plan::Life& life, double bytes) {
    const int home = program_.add({.upper = bytes});
    const int left = leaves(0, bytes, home);
    stay(-1, 1, bytes, {home});
    stay(0, end_, bytes, {home, left});
    const auto later = as_index(life.needed_later->epoch);
    visitors_[later].push_back({home, 1});
    returners_[later].push_back({left, 1});
  }

  // Of what lives in fast memory between steps: is written behind that epoch's begin, and gone.
  int leaves(plan::Epoch from, double bytes, int home) {
    const int left = program_.add({.upper = bytes});
    program_.rows.push_back({.terms = {{left, 1}, {home, 1}}, .upper = bytes});
    flow(from + 1).gone.push_back({left, 1});
    return left;
  }

  void add_persistent(const plan::Life& life, double bytes) {
    const int home = program_.add({.upper = bytes});
    const int left = leaves(0, bytes, home);
    std::vector<Term> written{{home, 1}, {left, 1}};
    const plan::Epoch first = life.uses.front().epoch;
    for (const int gone : {home, left}) flow(first).due.push_back({gone, 1});
    stay(-1, 1, bytes, {home});
    stay(0, first, bytes, {home, left});
    if (life.uses.front().writes) written.clear();
    const plan::Epoch last = add_gaps(life, bytes, written);
    if (life.needed_later && life.needed_later->writes) return update_later(life, last, bytes, home);
    write(last, bytes, home, written);
    stay(last, end_, bytes, {home});
  }

  // It stays until that op may run; or goes, and comes once more when the op runs.
  void update_later(const plan::Life& life, plan::Epoch last, double bytes, int home) {
    const int later = program_.add({.upper = bytes});
    const int left = leaves(last, bytes, home);
    const plan::Epoch from = life.needed_later->epoch;
    program_.rows.push_back({.terms = {{later, 1}, {home, -1}}, .upper = 0});
    visitors_[as_index(from)].push_back({later, 1});
    returners_[as_index(from)].push_back({left, 1});
    std::vector<Term> written{{later, 1}};
    if (from > last) stay(last, from + 1, bytes, {later, left});
    write(from, bytes, home, written);
    stay(from, end_, bytes, {home, left});
  }

  // Between all uses. Returns the last epoch in which it is used.
  plan::Epoch add_gaps(const plan::Life& life, double bytes, std::vector<Term>& written) {
    const std::vector<plan::ChainUse>& uses = life.uses;
    for (std::size_t i = 1; i < uses.size(); ++i) {
      add_gap(uses[i - 1].epoch, uses[i].epoch, bytes, uses[i].again_seconds / in_units(life.bytes), written);
      if (uses[i].writes && !life.several) written.clear();
    }
    const plan::Epoch last = uses.back().epoch;
    if (!life.needed_later || life.needed_later->writes || life.needed_later->epoch <= last) return last;
    const plan::Epoch later = life.needed_later->epoch;
    add_gap(last, later + 1, bytes, life.needed_later->again_seconds / in_units(life.bytes), written);
    return later;
  }

  void add_gap(plan::Epoch from, plan::Epoch to, double bytes, double again_seconds, std::vector<Term>& written) {
    if (to == from + 1) return;
    const int gone = program_.add({.upper = bytes});
    write(from, bytes, gone, written);
    flow(to).due.push_back({gone, 1});
    if (!(again_seconds < kOnlyOnce)) return stay(from, to, bytes, {gone});
    const double seconds = again_seconds / time_unit_;
    const int again = program_.add({.cost = seconds, .upper = bytes});
    flow(to).again.push_back({again, seconds});
    program_.rows.push_back({.terms = {{gone, 1}, {again, 1}}, .upper = bytes});
    stay(from, to, bytes, {gone, again});
  }

  void add_rows() {
    for (plan::Epoch slot = 0; slot <= end_; ++slot) {
      add_arrivals(slot);
      add_writes(slot);
      add_stall_facets(slot);
      if (slot == end_) continue;
      add_staying(slot);
      add_room(slot);
      add_run_facets(slot);
    }
    add_floating();
    add_visits();
  }

  void add_arrivals(plan::Epoch slot) {
    Row row{.terms = {{early_[as_index(slot)], 1}, {in_stall_[as_index(slot)], -1}}, .lower = 0, .upper = 0};
    if (slot > 0) {
      append_terms(row.terms, {{early_[as_index(slot - 1)], -1}, {in_run_[as_index(slot - 1)], -1}}, 1);
      row.terms.push_back({visits_[as_index(slot - 1)], 1});
      row.terms.push_back({returns_[as_index(slot - 1)], 1});
    }
    append_terms(row.terms, flow(slot).due, 1);
    program_.rows.push_back(std::move(row));
  }

  // What goes in an epoch may be written in it: then it takes no room when the next one begins.
  void add_writes(plan::Epoch slot) {
    Row row{.terms = {{waiting_[as_index(slot)], 1}, {out_stall_[as_index(slot)], 1}}, .lower = 0, .upper = 0};
    if (slot > 0) {
      append_terms(row.terms, {{waiting_[as_index(slot - 1)], -1}, {out_run_[as_index(slot - 1)], 1}}, 1);
      row.terms.push_back({visits_[as_index(slot - 1)], -1});
    }
    append_terms(row.terms, flow(slot).gone, -1);
    program_.rows.push_back(std::move(row));
  }

  void add_room(plan::Epoch slot) {
    rows_.room.push_back(count_of(program_.rows));
    Row row{.terms = {{staying_[as_index(slot)], 1}, {early_[as_index(slot)], 1}, {waiting_[as_index(slot)], 1}},
            .upper = in_units(step_.fast) - flow(slot).pinned};
    if (slot > 0) row.terms.push_back({returned_[as_index(slot - 1)], 1});
    program_.rows.push_back(std::move(row));
  }

  // An epoch is as long as its chain op, what floats into it, what is made again there, and what copies cost.
  void add_run_facets(plan::Epoch slot) {
    rows_.run.push_back(count_of(program_.rows));
    for (std::size_t f = 0; f < 2; ++f) {
      Row row{.terms = {{in_run_[as_index(slot)], link(step_.link.in[f] - step_.link.in_lost)},
                        {out_run_[as_index(slot)], link(step_.link.out[f] - step_.link.out_lost)},
                        {floating_[as_index(slot)], -1}},
              .upper = chain_seconds_[as_index(slot)] / time_unit_};
      append_terms(row.terms, flow(slot + 1).again, -1);
      program_.rows.push_back(std::move(row));
    }
  }

  // What has not run yet when an epoch ends could run in it and may run later.
  void add_floating() {
    std::vector<double> begins(as_index(end_) + 1, 0), ends(as_index(end_) + 1, 0);
    for (const plan::FloatingOp& op : order_.floating) {
      begins[as_index(op.first)] += op.seconds / time_unit_;
      ends[as_index(op.last)] += op.seconds / time_unit_;
    }
    double may_wait = 0;
    int before = -1;
    for (plan::Epoch epoch = 0; epoch < end_; ++epoch) {
      may_wait += begins[as_index(epoch)] - ends[as_index(epoch)];
      const int waits = program_.add({.upper = epoch + 1 == end_ ? 0 : std::max(0.0, may_wait)});
      Row row{.terms = {{waits, 1}, {floating_[as_index(epoch)], 1}}};
      if (before >= 0) row.terms.push_back({before, -1});
      row.lower = row.upper = begins[as_index(epoch)];
      program_.rows.push_back(std::move(row));
      before = waits;
    }
  }

  // What is to come for ops that float: all of it before the step ends. What returns stays.
  void add_visits() {
    for (const auto& [coming, due] : {std::pair(&visits_, &visitors_), std::pair(&returns_, &returners_)}) {
      int before = -1;
      for (plan::Epoch epoch = 0; epoch < end_; ++epoch) {
        const int to_come = program_.add({.upper = epoch + 1 == end_ ? 0 : kUnbounded});
        Row row{.terms = {{to_come, 1}, {(*coming)[as_index(epoch)], 1}}, .lower = 0, .upper = 0};
        if (before >= 0) row.terms.push_back({before, -1});
        append_terms(row.terms, (*due)[as_index(epoch)], -1);
        program_.rows.push_back(std::move(row));
        before = to_come;
      }
    }
    for (std::size_t e = 0; e < as_index(end_); ++e) {
      Row row{.terms = {{returned_[e], 1}, {returns_[e], -1}}, .lower = 0, .upper = 0};
      if (e > 0) row.terms.push_back({returned_[e - 1], -1});
      program_.rows.push_back(std::move(row));
    }
  }

  const plan::AnyOrder& order_;
  std::vector<Seconds> chain_seconds_;                       // by epoch
  std::vector<std::vector<Term>> visitors_, returners_;      // by the first epoch to come in
  std::vector<int> floating_, visits_, returns_, returned_;  // columns by epoch
};

}  // namespace

plan::StepPrices find_any_order_prices(const plan::BoundedStep& step, const plan::AnyOrder& order, Seconds time_limit) {
  return EpochProgram(step, order).solve(time_limit);
}

}  // namespace sluice::planners

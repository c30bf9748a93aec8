#include "sluice/planners/bound/any_order_prices.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/bound/slot_rows.hpp"

namespace sluice::planners {
namespace {

constexpr Seconds kOnlyOnce = std::numeric_limits<Seconds>::infinity();

class EpochProgram {
 public:
  EpochProgram(const plan::BoundedStep& step, const plan::AnyOrder& order)
      : step_(step), order_(order), end_(order.epochs()), chain_seconds_(as_index(end_), 0) {
    Seconds compute = 0;
    for (std::size_t k = 0; k < order.chain.size(); ++k) compute += chain_seconds_[k + 1] = order.chain[k].seconds;
    for (const plan::FloatingOp& op : order.floating) compute += op.seconds;
    time_unit_ = compute > 0 ? compute / end_ : 1;
    add_slots();
    for (const plan::Life& life : order.lives) add_life(life);
    add_rows();
  }

  plan::StepPrices solve(Seconds time_limit) const {
    const std::vector<double> found = find_row_prices(program_, time_limit);
    return found.empty() ? free_prices(as_index(end_)) : prices_of(rows_, found, time_unit_);
  }

 private:
  // Sums of an epoch's row as it begins (step_prices.cpp): what must have come, what is written from here on, which
  // gaps begin and end, and what is there in any case.
  struct Flow {
    std::vector<Term> due, gone, leaving, back;
    std::vector<Term> again;  // made again before it: bytes, and the time of each
    double begins = 0, ends = 0, pinned = 0;
  };

  double link(double seconds_per_byte) const { return seconds_per_byte * kByteUnit / time_unit_; }

  void add_slots() {
    for (plan::Epoch slot = 0; slot <= end_; ++slot) {
      const bool last = slot == end_;
      stall_.push_back(program_.add({.cost = 1}));
      in_stall_.push_back(program_.add({}));
      out_stall_.push_back(program_.add({}));
      early_.push_back(program_.add({}));
      waiting_.push_back(program_.add({.upper = last ? 0 : kUnbounded}));
      if (last) continue;
      in_run_.push_back(program_.add({.cost = link(step_.link.in_lost)}));
      out_run_.push_back(program_.add({.cost = link(step_.link.out_lost)}));
      staying_.push_back(program_.add({}));
      floating_.push_back(program_.add({}));
      visits_.push_back(program_.add({}));
      returns_.push_back(program_.add({}));
      returned_.push_back(program_.add({}));
    }
    flows_.resize(as_index(end_) + 1);
    visitors_.resize(as_index(end_));
    returners_.resize(as_index(end_));
  }

  Flow& flow(plan::Epoch slot) { return flows_[as_index(slot)]; }

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

  // What goes was written since it last changed.
  void write(plan::Epoch from, double bytes, int gone, std::vector<Term>& written) {
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

  // When the epochs between `from` and `to` begin, all but what is gone is there.
  void stay(plan::Epoch from, plan::Epoch to, double bytes, std::initializer_list<int> gone) {
    if (to == from + 1) return;
    flow(from + 1).begins += bytes;
    for (const int column : gone) flow(from + 1).leaving.push_back({column, 1});
    if (to >= end_) return;
    flow(to).ends += bytes;
    for (const int column : gone) flow(to).back.push_back({column, -1});
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

  void add_staying(plan::Epoch slot) {
    const Flow& at = flow(slot);
    Row row{.terms = {{staying_[as_index(slot)], 1}}};
    if (slot > 0) row.terms.push_back({staying_[as_index(slot - 1)], -1});
    append_terms(row.terms, at.leaving, 1);
    append_terms(row.terms, at.back, 1);
    row.lower = row.upper = at.begins - at.ends;
    program_.rows.push_back(std::move(row));
  }

  void add_room(plan::Epoch slot) {
    rows_.room.push_back(static_cast<int>(program_.rows.size()));
    Row row{.terms = {{staying_[as_index(slot)], 1}, {early_[as_index(slot)], 1}, {waiting_[as_index(slot)], 1}},
            .upper = in_units(step_.fast) - flow(slot).pinned};
    if (slot > 0) row.terms.push_back({returned_[as_index(slot - 1)], 1});
    program_.rows.push_back(std::move(row));
  }

  void add_stall_facets(plan::Epoch slot) {
    rows_.stall.push_back(static_cast<int>(program_.rows.size()));
    for (std::size_t f = 0; f < 2; ++f) {
      program_.rows.push_back({.terms = {{in_stall_[as_index(slot)], link(step_.link.in[f])},
                                         {out_stall_[as_index(slot)], link(step_.link.out[f])},
                                         {stall_[as_index(slot)], -1}},
                               .upper = 0});
    }
  }

  // An epoch is as long as its chain op, what floats into it, what is made again there, and what copies cost.
  void add_run_facets(plan::Epoch slot) {
    rows_.run.push_back(static_cast<int>(program_.rows.size()));
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

  const plan::BoundedStep& step_;
  const plan::AnyOrder& order_;
  plan::Epoch end_;
  std::vector<Seconds> chain_seconds_;  // by epoch
  Seconds time_unit_ = 1;
  IntegerProgram program_;
  std::vector<Flow> flows_;                                          // by epoch that begins
  std::vector<std::vector<Term>> visitors_, returners_;              // by the first epoch to come in
  std::vector<int> stall_, in_stall_, out_stall_, early_, waiting_;  // columns by epoch that begins
  std::vector<int> in_run_, out_run_, staying_, floating_, visits_, returns_, returned_;  // columns by epoch
  SlotRows rows_;
};

}  // namespace

plan::StepPrices find_any_order_prices(const plan::BoundedStep& step, const plan::AnyOrder& order, Seconds time_limit) {
  return EpochProgram(step, order).solve(time_limit);
}

}  // namespace sluice::planners

// What linear programs over the slots of a step share: units, sums of terms, and prices from the duals of their rows.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/prices.hpp"
#include "sluice/plan/verify/certificate.hpp"
#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice::planners {

// Programs count bytes in MiB, and time in a unit of their own, so that coefficients are near 1.
inline constexpr double kByteUnit = kMiB;
inline constexpr Bytes kLeastMoving = 16 * kKiB;  // smaller tensors stay in fast memory

constexpr double in_units(Bytes bytes) { return static_cast<double>(bytes) / kByteUnit; }

// Adds `sign` times what `more` sums up, each column once.
void append_terms(std::vector<Term>& terms, const std::vector<Term>& more, double sign);

struct SlotRows {
  std::vector<int> room;   // by op or epoch
  std::vector<int> run;    // likewise: the first of a pair, one for each facet of the link
  std::vector<int> stall;  // by slot between them: likewise
};

// Sums of a slot's row: what flows and changes as it begins.
struct SlotFlow {
  std::vector<Term> due;      // must have come
  std::vector<Term> gone;     // must be written from here on
  std::vector<Term> leaving;  // of what stays: the gap begins behind the slot before
  std::vector<Term> back;     // the gap has ended
  double begins = 0;          // bytes whose gap begins behind the slot before, were nothing gone
  double ends = 0;
  double pinned = 0;  // there in any case
};

// The program's part that is the same for ops in their order and for epochs of any order. Slots are numbered as what runs
// behind them, and there is one more. `Flow` is a SlotFlow, with more sums perhaps.
template <typename Flow>
class SlotProgram {
 protected:
  SlotProgram(const plan::BoundedStep& step, std::int32_t end, Seconds seconds)
      : step_(step), end_(end), time_unit_(seconds > 0 ? seconds / end : 1), flows_(as_index(end) + 1) {}

  Flow& flow(std::int32_t slot) { return flows_[as_index(slot)]; }
  double link(double seconds_per_byte) const { return seconds_per_byte * kByteUnit / time_unit_; }

  void add_slot(std::int32_t slot) {
    stall_.push_back(program_.add({.cost = 1}));
    in_stall_.push_back(program_.add({}));
    out_stall_.push_back(program_.add({}));
    early_.push_back(program_.add({}));
    waiting_.push_back(program_.add({.upper = slot == end_ ? 0 : kUnbounded}));
    if (slot == end_) return;
    in_run_.push_back(program_.add({.cost = link(step_.link.in_lost)}));
    out_run_.push_back(program_.add({.cost = link(step_.link.out_lost)}));
    staying_.push_back(program_.add({}));
  }

  // What is gone in a gap that begins behind `from`: since it last changed, enough of it was or is now written.
  void write(std::int32_t from, double bytes, int gone, std::vector<Term>& written) {
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

  // In the slots between `from` and `to`, all but what is gone stays.
  void stay(std::int32_t from, std::int32_t to, double bytes, std::initializer_list<int> gone) {
    if (to == from + 1) return;
    flow(from + 1).begins += bytes;
    for (const int column : gone) flow(from + 1).leaving.push_back({column, 1});
    if (to >= end_) return;
    flow(to).ends += bytes;
    for (const int column : gone) flow(to).back.push_back({column, -1});
  }

  void add_staying(std::int32_t slot) {
    const Flow& at = flow(slot);
    Row row{.terms = {{staying_[as_index(slot)], 1}}};
    if (slot > 0) row.terms.push_back({staying_[as_index(slot - 1)], -1});
    append_terms(row.terms, at.leaving, 1);
    append_terms(row.terms, at.back, 1);
    row.lower = row.upper = at.begins - at.ends;
    program_.rows.push_back(std::move(row));
  }

  void add_stall_facets(std::int32_t slot) {
    rows_.stall.push_back(count_of(program_.rows));
    for (std::size_t f = 0; f < 2; ++f) {
      program_.rows.push_back({.terms = {{in_stall_[as_index(slot)], link(step_.link.in[f])},
                                         {out_stall_[as_index(slot)], link(step_.link.out[f])},
                                         {stall_[as_index(slot)], -1}},
                               .upper = 0});
    }
  }

  const plan::BoundedStep& step_;
  std::int32_t end_;
  Seconds time_unit_;
  IntegerProgram program_;
  std::vector<Flow> flows_;                                          // by slot
  std::vector<int> stall_, in_stall_, out_stall_, early_, waiting_;  // columns by slot
  std::vector<int> in_run_, out_run_, staying_;                      // columns by op or epoch
  SlotRows rows_;
};

// Everything costs what it costs in a stall: what there is where a program has no answer.
plan::StepPrices free_prices(std::size_t runs);

// `found`: LpSolution::row_prices of a program in which a second of stall costs one, in units of `time_unit` seconds.
plan::StepPrices prices_of(const SlotRows& rows, const std::vector<double>& found, Seconds time_unit);

}  // namespace sluice::planners

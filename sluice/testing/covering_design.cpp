#include "sluice/testing/covering_design.hpp"

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::testing {
namespace {

constexpr int kOpen = -1;  // a factor of a row that has no level yet

// Levels of a few factors; kOpen for the others.
using Combination = std::vector<int>;

class Design {
 public:
  Design(const std::vector<int>& levels, int strength) : levels_(levels), strength_(strength) {
    for (const int count : levels) taken_.emplace_back(count, 0);
    add_combinations(Combination(levels.size(), kOpen), 0, strength);
  }

  bool complete() const { return missing_.empty(); }

  std::vector<int> next_row() {
    std::vector<int> row = *missing_.begin();
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (row[factor] == kOpen) row[factor] = best_level(row, factor);
    }
    for (std::size_t factor = 0; factor < row.size(); ++factor) ++taken_[factor][row[factor]];
    std::erase_if(missing_, [&](const Combination& one) { return has(row, one); });
    return row;
  }

 private:
  void add_combinations(Combination begun, std::size_t factor, int left) {
    if (left == 0) {
      missing_.insert(begun);
      return;
    }
    if (factor + as_index(left) > levels_.size()) return;
    add_combinations(begun, factor + 1, left);
    for (int level = 0; level < levels_[factor]; ++level) {
      begun[factor] = level;
      add_combinations(begun, factor + 1, left - 1);
    }
  }

  static bool has(const std::vector<int>& row, const Combination& one) {
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (one[factor] != kOpen && one[factor] != row[factor]) return false;
    }
    return true;
  }

  int best_level(std::vector<int> row, std::size_t factor) const {
    int best = 0;
    int most = -1;
    for (int level = 0; level < levels_[factor]; ++level) {
      row[factor] = level;
      const int added = combinations_added(row, factor);
      if (added > most || (added == most && taken_[factor][level] < taken_[factor][best])) {
        best = level;
        most = added;
      }
    }
    return best;
  }

  // Missing combinations that the row's levels make and that have a part in `factor`.
  int combinations_added(const std::vector<int>& row, std::size_t factor) const {
    Combination one(row.size(), kOpen);
    one[factor] = row[factor];
    return count_missing(row, factor, one, 0, strength_ - 1);
  }

  int count_missing(const std::vector<int>& row, std::size_t fixed, Combination& one, std::size_t from,
                    int left) const {
    if (left == 0) return missing_.contains(one) ? 1 : 0;
    int sum = 0;
    for (std::size_t factor = from; factor < row.size(); ++factor) {
      if (factor == fixed || row[factor] == kOpen) continue;
      one[factor] = row[factor];
      sum += count_missing(row, fixed, one, factor + 1, left - 1);
      one[factor] = kOpen;
    }
    return sum;
  }

  const std::vector<int>& levels_;
  int strength_;
  std::vector<std::vector<int>> taken_;  // by factor and level: in how many rows
  std::set<Combination> missing_;
};

}  // namespace

std::vector<std::vector<int>> covering_design(const std::vector<int>& levels, int strength) {
  SLUICE_CHECK(strength >= 1 && as_index(strength) <= levels.size(), "of that many factors");
  SLUICE_CHECK(std::ranges::all_of(levels, [](int count) { return count >= 1; }), "each factor has a level");
  Design design(levels, strength);
  std::vector<std::vector<int>> rows;
  while (!design.complete()) rows.push_back(design.next_row());
  return rows;
}

}  // namespace sluice::testing

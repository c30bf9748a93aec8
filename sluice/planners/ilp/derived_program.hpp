// Programs of choices: integer columns that somebody decides, and columns whose values follow from them. So an answer
// that is known otherwise, from a heuristic or by enumeration, can be completed to values of all columns: to start a
// solver from it, or to learn what it costs.
//
// What programs over the ops of a step share is here too: sums of columns, and loads, which say how many bytes a place
// holds at each op. A load has a column of its own, and its row says by how much it differs from the load before: two
// entries for a span instead of one for every op that it covers.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice::planners {

inline constexpr int kAlways = -1;  // instead of a column: the choice is fixed, to 1

// A sum of columns and a constant.
class Sum {
 public:
  Sum& add(int column, double coefficient) {
    if (column == kAlways) {
      constant_ += coefficient;
    } else {
      terms_[column] += coefficient;
    }
    return *this;
  }
  double constant() const { return constant_; }
  bool is_constant() const { return terms_.empty(); }
  // With kAlways for the constant.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    visit(kAlways, constant_);
    for (const auto& [column, coefficient] : terms_) visit(column, coefficient);
  }
  // Row: `column` >= this sum, or equal to it.
  Row row_for(int column, bool equal = false) const {
    Row row{.terms = {{column, 1}}, .lower = constant_, .upper = equal ? constant_ : kUnbounded};
    for (const auto& [other, coefficient] : terms_) {
      if (coefficient != 0) row.terms.push_back({other, -coefficient});
    }
    return row;
  }

 private:
  std::map<int, double> terms_;
  double constant_ = 0;
};

// `size` times the column's value over `ops`.
struct LoadSpan {
  Interval<int> ops;
  int column = kAlways;
  double size = 0;
};

struct DerivedProgram {
  IntegerProgram ilp;

  // Columns that follow from the choices, in the order in which they are computed. The value of each is the least that
  // satisfies its rows.
  struct Derived {
    int column = 0;
    std::vector<std::size_t> rows;  // each with this column at coefficient 1, and a lower bound
  };
  std::vector<Derived> derived;

  // Where choices together do not cost the sum of what each costs alone: one column for every set of those that are 0.
  struct Configurations {
    std::vector<int> choices;  // columns
    int first = 0;             // column of the empty set; bit i of the set stands for choices[i] being 0
  };
  std::vector<Configurations> configurations;

  // Adds `column` and the rows that its value follows from: `column` >= each of the sums, or equal to them.
  int add_derived(const Column& column, const std::vector<Sum>& at_least, bool equal = false);

  // One column for each set of `choices` at 0, with its cost (by set), and the rows that make exactly one of them 1.
  void add_configurations(const std::vector<int>& choices, const std::vector<double>& costs);

  // Adds a column for the load at each of `ops`, which counts only the spans that have a column, and the rows that tie
  // each load to the one before. Returns the new columns.
  std::vector<int> add_loads(std::span<const LoadSpan> spans, std::span<const int> ops);

  // Sets the values of what follows from the choices, which are there.
  void derive(IdVector<int, double>& values) const;
};

// The ops at which the sum of the spans can be largest, whatever values their columns have. Of neighbouring ops, one is
// left out when another has all of its spans.
std::vector<int> maxima_of(std::span<const LoadSpan> spans, int op_count);

// By op: the sum of the spans with every column at 1, or of the constant ones only.
IdVector<int, double> whole_load(std::span<const LoadSpan> spans, int op_count, bool constant_only = false);

}  // namespace sluice::planners

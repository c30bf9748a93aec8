// The loads of a placement program: how many bytes each place holds at each op, as sums of columns over ranges of ops.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/graph/op.hpp"
#include "sluice/planners/redl/placement_program.hpp"

namespace sluice {

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
  Interval<OpIndex> ops;
  int column = kAlways;
  double size = 0;
};

// The ops at which the sum of the spans can be largest, whatever values their columns have. Of neighbouring ops, one is
// left out when another has all of its spans.
std::vector<OpIndex> maxima_of(std::span<const LoadSpan> spans, OpIndex op_count);

// By op: the sum of the spans with every column at 1, or of the constant ones only.
IdVector<OpIndex, double> whole_load(std::span<const LoadSpan> spans, OpIndex op_count, bool constant_only = false);

// Adds a column for the load at each of `ops`, which counts only the spans that have a column, and the rows that tie
// each load to the one before. Returns the new columns.
std::vector<int> add_loads(PlacementProgram& program, std::span<const LoadSpan> spans, std::span<const OpIndex> ops);

// Adds `column` and the rows that its value follows from: `column` >= each of the sums, or equal to them.
int add_derived(PlacementProgram& program, const Column& column, std::vector<Sum> at_least, bool equal = false);

}  // namespace sluice

#include "sluice/planners/ilp/derived_program.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {

std::vector<int> maxima_of(std::span<const LoadSpan> spans, int op_count) {
  IdVector<int, bool> begins(as_index(op_count) + 1, false);
  IdVector<int, bool> ends(as_index(op_count) + 1, false);
  for (const LoadSpan& span : spans) {
    if (span.ops.empty()) continue;
    begins[span.ops.begin] = true;
    ends[span.ops.end] = true;
  }
  ends.back() = true;
  // Between two ends without a begin between them the load only falls, so a row at the first is enough.
  std::vector<int> maxima;
  bool grew = false;
  for (int op = 0; op < op_count; ++op) {
    grew = grew || begins[op];
    if (!grew || !ends[op + 1]) continue;
    maxima.push_back(op);
    grew = false;
  }
  return maxima;
}

IdVector<int, double> whole_load(std::span<const LoadSpan> spans, int op_count, bool constant_only) {
  IdVector<int, double> change(as_index(op_count) + 1, 0);
  for (const LoadSpan& span : spans) {
    if (span.ops.empty() || (constant_only && span.column != kAlways)) continue;
    change[span.ops.begin] += span.size;
    change[span.ops.end] -= span.size;
  }
  for (std::size_t op = 1; op < change.size(); ++op) change[op] += change[op - 1];
  return change;
}

int DerivedProgram::add_derived(const Column& column, const std::vector<Sum>& at_least, bool equal) {
  Derived added{.column = ilp.add(column), .rows = {}};
  for (const Sum& sum : at_least) {
    added.rows.push_back(ilp.rows.size());
    ilp.rows.push_back(sum.row_for(added.column, equal));
  }
  derived.push_back(std::move(added));
  return derived.back().column;
}

// Exactly one set of the choices is 0, and each choice is 1 in the sets without it.
void DerivedProgram::add_configurations(const std::vector<int>& choices, const std::vector<double>& costs) {
  configurations.push_back({.choices = choices, .first = count_of(ilp.columns)});
  Row one{.terms = {}, .lower = 1, .upper = 1};
  std::vector<Row> without(choices.size(), Row{.terms = {}, .lower = 0, .upper = 0});
  for (std::size_t set = 0; set < costs.size(); ++set) {
    const int column = ilp.add({.cost = costs[set], .lower = 0, .upper = 1});
    one.terms.push_back({column, 1});
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (((set >> i) & 1) == 0) without[i].terms.push_back({column, 1});
    }
  }
  for (std::size_t i = 0; i < choices.size(); ++i) without[i].terms.push_back({choices[i], -1});
  ilp.rows.push_back(std::move(one));
  for (Row& row : without) ilp.rows.push_back(std::move(row));
}

std::vector<int> DerivedProgram::add_loads(std::span<const LoadSpan> spans, std::span<const int> ops) {
  std::vector<Sum> changes(ops.size() + 1);
  for (const LoadSpan& span : spans) {
    if (span.column == kAlways) continue;
    const auto first = std::ranges::lower_bound(ops, span.ops.begin) - ops.begin();
    const auto last = std::ranges::lower_bound(ops, span.ops.end) - ops.begin();
    if (first >= last) continue;
    changes[as_index(first)].add(span.column, span.size);
    changes[as_index(last)].add(span.column, -span.size);
  }
  std::vector<int> loads;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i > 0) changes[i].add(loads.back(), 1);
    loads.push_back(add_derived({.lower = -kUnbounded}, {changes[i]}, /*equal=*/true));
  }
  return loads;
}

void DerivedProgram::derive(IdVector<int, double>& values) const {
  for (const Configurations& each : configurations) {
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < each.choices.size(); ++i) {
      if (values[each.choices[i]] < 0.5) zeros |= std::size_t{1} << i;
    }
    values[as_index(each.first) + zeros] = 1;
  }
  for (const Derived& each : derived) {
    double value = ilp.columns[each.column].lower;
    for (const std::size_t r : each.rows) {
      double least = ilp.rows[r].lower;
      for (const Term& term : ilp.rows[r].terms) {
        if (term.column != each.column) least -= term.coefficient * values[term.column];
      }
      value = std::max(value, least);
    }
    values[each.column] = value;
  }
}

}  // namespace sluice::planners

#include "sluice/planners/redl/load_rows.hpp"

#include <algorithm>

namespace sluice {

std::vector<OpIndex> maxima_of(std::span<const LoadSpan> spans, OpIndex op_count) {
  IdVector<OpIndex, bool> begins(op_count + 1, false);
  IdVector<OpIndex, bool> ends(op_count + 1, false);
  for (const LoadSpan& span : spans) {
    if (span.ops.empty()) continue;
    begins[span.ops.begin] = true;
    ends[span.ops.end] = true;
  }
  ends.back() = true;
  // Between two ends without a begin between them the load only falls, so a row at the first is enough.
  std::vector<OpIndex> maxima;
  bool grew = false;
  for (OpIndex op = 0; op < op_count; ++op) {
    grew = grew || begins[op];
    if (!grew || !ends[op + 1]) continue;
    maxima.push_back(op);
    grew = false;
  }
  return maxima;
}

IdVector<OpIndex, double> whole_load(std::span<const LoadSpan> spans, OpIndex op_count, bool constant_only) {
  IdVector<OpIndex, double> change(op_count + 1, 0);
  for (const LoadSpan& span : spans) {
    if (span.ops.empty() || (constant_only && span.column != kAlways)) continue;
    change[span.ops.begin] += span.size;
    change[span.ops.end] -= span.size;
  }
  for (std::size_t op = 1; op < change.size(); ++op) change[op] += change[op - 1];
  return change;
}

int add_derived(PlacementProgram& program, const Column& column, std::vector<Sum> at_least, bool equal) {
  const int added = program.ilp.add(column);
  PlacementProgram::Derived derived{.column = added, .rows = {}};
  for (const Sum& sum : at_least) {
    derived.rows.push_back(program.ilp.rows.size());
    program.ilp.rows.push_back(sum.row_for(added, equal));
  }
  program.derived.push_back(std::move(derived));
  return added;
}

std::vector<int> add_loads(PlacementProgram& program, std::span<const LoadSpan> spans, std::span<const OpIndex> ops) {
  std::vector<Sum> changes(ops.size() + 1);
  for (const LoadSpan& span : spans) {
    if (span.column == kAlways) continue;
    const auto first = std::ranges::lower_bound(ops, span.ops.begin) - ops.begin();
    const auto last = std::ranges::lower_bound(ops, span.ops.end) - ops.begin();
    if (first >= last) continue;
    changes[static_cast<std::size_t>(first)].add(span.column, span.size);
    changes[static_cast<std::size_t>(last)].add(span.column, -span.size);
  }
  // Each row names the load before it and what changes since: rows of a few entries instead of one per span.
  std::vector<int> loads;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i > 0) changes[i].add(loads.back(), 1);
    loads.push_back(add_derived(program, {.lower = -kUnbounded}, {changes[i]}, /*equal=*/true));
  }
  return loads;
}

}  // namespace sluice

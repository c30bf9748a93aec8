#include "sluice/planners/checkmate/remat_program.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

constexpr double kIsOne = 0.5;  // of integers in floating point

}  // namespace

RematProgram::RematProgram(const RematProblem& problem)
    : problem_(problem),
      bytes_per_unit_(std::max(1.0, static_cast<double>(problem.capacity))),
      seconds_per_unit_(std::max(1e-12, problem.once / 1000)) {
  ilp_.add({.cost = problem.once / seconds_per_unit_, .lower = 1, .upper = 1});  // every node once
  add_runs();
  add_kept();
  add_kept_rows();
  add_operand_rows();
  for (int stage = 0; stage < problem.stages(); ++stage) add_memory(stage);
}

void RematProgram::add_runs() {
  const std::size_t nodes = problem_.nodes.size();
  run_.assign(nodes, IdVector<int, int>(nodes, kZero));
  for (int stage = 0; stage < problem_.stages(); ++stage) {
    run_[stage][stage] = kOne;
    for (int node = 0; node < stage; ++node) {
      if (!problem_.may_run(stage, node)) continue;
      const double cost = problem_.nodes[node].again / seconds_per_unit_;
      run_[stage][node] = ilp_.add({.cost = cost, .upper = 1, .integer = true});
    }
  }
}

// What is made once and read by a node's first run is there until then.
bool RematProgram::always_kept(int stage, int value) const {
  const RematValue& each = problem_.values[value];
  const bool once = each.made_once || problem_.nodes[each.node].last_run == each.node;
  return once && !each.readers.empty() && stage <= each.readers.back();
}

void RematProgram::add_kept() {
  kept_.assign(problem_.nodes.size() + 1, IdVector<int, int>(problem_.values.size(), kZero));
  for (int value = 0; value < count_of(problem_.values); ++value) {
    const RematValue& each = problem_.values[value];
    for (int stage = each.node + 1; stage <= each.last_need; ++stage) {
      kept_[stage][value] = always_kept(stage, value) ? kOne : ilp_.add({.upper = 1, .integer = true});
    }
  }
}

int RematProgram::made(int stage, int value) const {
  return problem_.makes(stage, value) ? run_[stage][problem_.values[value].node] : kZero;
}

// Equation (1c).
void RematProgram::add_kept_rows() {
  for (int value = 0; value < count_of(problem_.values); ++value) {
    const RematValue& each = problem_.values[value];
    for (int stage = each.node + 1; stage <= each.last_need; ++stage) {
      const int kept = kept_[stage][value];
      add_row({{kept, 1}, {made(stage - 1, value), -1}, {kept_[stage - 1][value], -1}}, 0);
      if (kept >= 0 && made(stage, value) >= 0) add_row({{kept, 1}, {made(stage, value), 1}}, 1);
    }
  }
}

// Equation (1b).
void RematProgram::add_operand_rows() {
  for (int stage = 0; stage < problem_.stages(); ++stage) {
    for (int node = 0; node <= stage; ++node) {
      if (run_[stage][node] == kZero) continue;
      for (const int value : problem_.nodes[node].reads) {
        if (!reads(stage, node, value)) continue;
        add_row({{run_[stage][node], 1}, {made(stage, value), -1}, {kept_[stage][value], -1}}, 0);
      }
    }
  }
}

// Equations (2) and (3), and (1d) while each node runs.
void RematProgram::add_memory(int stage) {
  Row row{.terms = {}, .lower = size(problem_.always)};
  for (int value = 0; value < count_of(problem_.values); ++value) {
    add_bytes(row, kept_[stage][value], size(problem_.values[value].bytes));
  }
  int used = add_used(std::move(row), kZero);
  for (int node = 0; node <= stage; ++node) {
    const int run = run_[stage][node];
    if (run == kZero) continue;
    add_row({{used, 1}, {run, size(problem_.nodes[node].beside)}}, 1);
    row = {.terms = {}, .lower = 0};
    for (const int value : problem_.nodes[node].makes) {
      if (!problem_.makes(stage, value)) continue;
      add_bytes(row, run, size(problem_.values[value].bytes));
      add_bytes(row, add_free(stage, value, node), -size(problem_.values[value].bytes));
    }
    for (const int value : problem_.nodes[node].reads) {
      if (!reads(stage, node, value)) continue;
      add_bytes(row, add_free(stage, value, node), -size(problem_.values[value].bytes));
    }
    used = add_used(std::move(row), used);
  }
}

void RematProgram::add_bytes(Row& row, int column, double bytes) {
  if (column == kOne) row.lower += bytes;
  if (column < 0) return;
  const auto found = std::ranges::find(row.terms, column, &Term::column);
  if (found == row.terms.end()) {
    row.terms.push_back({column, -bytes});
  } else {
    found->coefficient -= bytes;
  }
}

int RematProgram::add_used(Row row, int before) {
  const int used = ilp_.add({.lower = -kUnbounded, .upper = 1});
  row.terms.push_back({used, 1});
  if (before != kZero) row.terms.push_back({before, -1});
  row.upper = row.lower;
  used_.push_back(used);
  used_rows_.push_back(ilp_.rows.size());
  ilp_.rows.push_back(std::move(row));
  return used;
}

// Equation (5).
int RematProgram::add_free(int stage, int value, int node) {
  std::vector<int> in_the_way{kept_[stage + 1][value]};  // each of them must be 0
  for (const int reader : problem_.values[value].readers) {
    if (reader > node && reader <= stage) in_the_way.push_back(run_[stage][reader]);
  }
  std::erase(in_the_way, kZero);
  if (std::ranges::find(in_the_way, kOne) != in_the_way.end()) return kZero;
  const int run = run_[stage][node];
  if (in_the_way.empty()) return run;
  const int column = ilp_.add({.upper = 1});
  free_.push_back({column, stage, value, node});
  add_row({{column, 1}, {run, -1}}, 0);
  for (const int other : in_the_way) add_row({{column, 1}, {other, 1}}, 1);
  return column;
}

void RematProgram::add_row(std::vector<Term> terms, double upper) {
  for (const Term& term : terms) upper -= term.column == kOne ? term.coefficient : 0;
  std::erase_if(terms, [](const Term& term) { return term.column < 0; });
  if (terms.empty()) return;
  double most = 0;
  for (const Term& term : terms) most += std::max(0.0, term.coefficient * ilp_.columns[term.column].upper);
  if (most > upper) ilp_.rows.push_back({.terms = std::move(terms), .upper = upper});
}

std::vector<double> RematProgram::values_of(const RematRuns& runs) const {
  IdVector<int, double> values(ilp_.columns.size(), 0);
  values[0] = 1;
  const RematKept kept = least_kept(problem_, runs);
  for (int stage = 0; stage < problem_.stages(); ++stage) {
    for (int node = 0; node < stage; ++node) {
      if (run_[stage][node] >= 0) values[run_[stage][node]] = runs[stage][node] ? 1 : 0;
    }
    for (int value = 0; value < count_of(problem_.values); ++value) {
      if (kept_[stage][value] >= 0) values[kept_[stage][value]] = kept[stage][value] ? 1 : 0;
    }
  }
  for (const FreeColumn& each : free_) {
    bool frees = runs[each.stage][each.node] && !kept[each.stage + 1][each.value];
    for (const int reader : problem_.values[each.value].readers) {
      if (reader > each.node && reader <= each.stage) frees = frees && !runs[each.stage][reader];
    }
    values[each.column] = frees ? 1 : 0;
  }
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const Row& row = ilp_.rows[used_rows_[i]];
    double used = row.lower;
    for (const Term& term : row.terms) used -= term.column == used_[i] ? 0 : term.coefficient * values[term.column];
    values[used_[i]] = used;
  }
  return std::vector<double>(values);
}

RematRuns RematProgram::runs_of(const std::vector<double>& values) const {
  RematRuns runs = no_repetitions(problem_);
  for (int stage = 0; stage < problem_.stages(); ++stage) {
    for (int node = 0; node < stage; ++node) {
      const int column = run_[stage][node];
      runs[stage][node] = column >= 0 && values[as_index(column)] > kIsOne;
    }
  }
  return runs;
}

RematKept RematProgram::kept_of(const std::vector<double>& values, double threshold) const {
  RematKept kept(kept_.size(), IdVector<int, bool>(problem_.values.size(), false));
  for (int stage = 0; stage < problem_.stages(); ++stage) {
    for (int value = 0; value < count_of(problem_.values); ++value) {
      const int column = kept_[stage][value];
      kept[stage][value] = column == kOne || (column >= 0 && values[as_index(column)] >= threshold);
    }
  }
  return kept;
}

}  // namespace sluice::planners

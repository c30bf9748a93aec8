// The budget of the fast tier: --fast as a size, as a share of everything, or to be found (`auto:5%`).
#pragma once

#include <string>
#include <vector>

#include "tools/options.hpp"

namespace sluice::cli {

// "5%" is 0.05. kBadInput, beginning with `argument`, for what is no percentage from 0 to 100.
Result<double> parse_percentage(const std::string& argument, const std::string& text);

struct BudgetArguments {
  std::string fast;
  bool smallest_feasible = false;

  void add_to(CLI::App& command);
  // Whether the budget is to be found: the least memory with at most so much loss.
  bool is_auto() const;
  Result<double> allowed_loss() const;      // of an `auto`
  Status check() const;                     // before anything is measured: kBadInput for what is no budget
  Result<train::FastBudget> fixed() const;  // kBadInput for `auto`, too
};

// The budget to plan with. What `planners` want to know besides op times is measured first, into `prepared`. `auto` is
// for the first of them that is not the baseline: it plans about ten times and says on standard error what it found;
// kNoneFound where that planner loses more whatever it gets.
Result<train::FastBudget> budget_for(Prepared& prepared, const BudgetArguments& arguments,
                                     const MachineArguments& machine, const std::vector<std::string>& planners,
                                     const train::SessionOptions& session = {});

}  // namespace sluice::cli

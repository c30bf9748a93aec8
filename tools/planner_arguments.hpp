// Which planner is to plan, how long it may look for a better plan, and where its integer program goes: --planner,
// --planning-time, --program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/search_rounds.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

struct PlannerArguments {
  std::string name{planners::kDefaultPlanner};
  std::optional<Seconds> most_seconds;  // to look for a better plan; nothing: until the search ends

  bool in_haste = false;  // another search follows: nobody need be told that this one was cut short
  std::string program;    // where the integer program that it solves is written; empty: nowhere

  void add_to(CLI::App& command);
  Status check() const;
};

// What a planner is doing, on one line of standard error; Ctrl-C, or the time that it may take, ends it with the best
// plan so far. One object at a time, and no other InterruptGuard beside it.
class AttendedPlanning {
 public:
  explicit AttendedPlanning(const PlannerArguments& arguments);
  ~AttendedPlanning();  // a note where the search was cut short
  AttendedPlanning(const AttendedPlanning&) = delete;
  AttendedPlanning& operator=(const AttendedPlanning&) = delete;

  // Whether the program that was asked for is written. kBadInput where the planner solves none.
  Status program_written() const;

  // How the search converged; empty where the planner does not search in rounds.
  const std::vector<planners::SearchRound>& rounds() const;

  // It may outlive this object, and is silent then.
  std::shared_ptr<const planners::PlanningWatch> watch() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sluice::cli

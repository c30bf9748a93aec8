// Training that decides between plans by running steps with them: Sentinel's test and trial for tensors that arrive too
// late (§IV-D, case 3), ReDL's search for the period (§III-D). A planner's search (planners/plan_search.hpp) proposes
// plans. PlanTrials runs steps with them and tells the search how long each step took.
//
//   session --step--> trace --observe()--> search --plan()--> another plan? --> session.change_plan() before the next
//
// Trial steps are steps of the training like all others: loss and parameters are the same bits whatever is tried. In
// Sentinel there are at most two trial steps for each occasion. In addition, every change of plan costs one step that
// is run but not observed (kWarmupSteps says why), and the time to write and read the parameters, which is part of no
// step's time. All three are counted separately.
//
// At the end the search decides: the best plan observed is kept. If a plan cannot be started, the trials end with the
// best plan before it, and a note says so. A run that ends in between loses nothing: its checkpoint does not depend on
// the plan, and kept_plan() is the best so far. One caller at a time. A proposal that breaks a rule is our bug:
// std::logic_error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/planners/plan_search.hpp"
#include "sluice/train/policy_run.hpp"
#include "sluice/train/session.hpp"

namespace sluice::experiment {

// How many steps are not observed after the session has begun to obey another plan. The first step touches the pages of
// new arenas: some hundred page faults, which take 5 to 10 % of a step's processor time (ResNet-20 and ResNet-50 on an
// emulated tier). The first step of a process makes kernels too and takes half as long again. The second step has no
// such faults and takes as long as those after it.
inline constexpr int kWarmupSteps = 1;

struct TriedPlan {
  plan::Plan plan;
  std::vector<Seconds> steps;  // that were observed
};

// What the trials came to: Sentinel's table III.
struct TrialRecord {
  std::vector<TriedPlan> plans;   // in the order of their first steps; the first is what the session began with
  std::size_t kept = 0;           // of these: the best so far
  int profiling_steps = 0;        // before the run: one where accesses were given, to count them
  std::int64_t trial_steps = 0;   // observed
  std::int64_t warmup_steps = 0;  // run between them and not observed
  std::int64_t changes = 0;       // of plan
  Seconds change_seconds = 0;     // what the changes took, outside all steps
  bool complete = false;          // the search has made up its mind; else it was cut short, or is under way
  planners::SearchReport search;
  std::vector<std::string> notes;
};

struct TrialOptions {
  std::string planner;                                        // whose search it is
  std::optional<std::int64_t> most_steps;                     // observed; nothing: as many as the search wants
  std::function<void(const TriedPlan& plan)> on_change = {};  // may be empty: told of every change of plan
};

// How a run begins: with a plan or a policy and, where plans are to be tried, with the search that proposes further ones. The
// search refers to `asked`, and `asked` refers to the workload's graph, the profile and the machine.
struct PlannedStart {
  policies::Run run;
  std::unique_ptr<train::BudgetedRequest> asked;  // both nullptr: there is nothing to try
  std::unique_ptr<planners::PlanSearch> search;
};

class PlanTrials : public train::Training {
 public:
  // `session` must outlive this object and begin with the search's first plan. `start` has something to try.
  PlanTrials(train::Session& session, PlannedStart start, TrialOptions options);

  // StepOutcome::variant says "trial" or "warm-up" of steps before the search is over.
  Result<train::StepOutcome> run_step(std::int64_t step, double learning_rate) override;
  Result<train::ValidationResult> validate(std::int64_t batches) override;
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) override;

  bool over() const { return stage_ == Stage::kSettled; }
  const TrialRecord& record() const { return record_; }
  const plan::Plan& kept_plan() const { return record_.plans[record_.kept].plan; }

 private:
  enum class Stage {
    kTrying,    // steps are observed
    kSettling,  // no more trials: the plan to keep is to be started before the next step
    kSettled,
  };

  Status start_wanted_plan();
  Status start(const plan::Plan& proposal);
  void observe(const program::StepTimes& trace);
  void note_outcome();
  const plan::Plan& plan_to_keep() const;              // as far as is known
  std::size_t index_of(const plan::Plan& plan) const;  // in record_.plans; their number where it has not been run

  train::Session& session_;
  std::unique_ptr<train::BudgetedRequest> asked_;
  std::unique_ptr<planners::PlanSearch> search_;
  TrialOptions options_;
  Stage stage_ = Stage::kTrying;
  std::size_t running_ = 0;  // in record_.plans
  int cold_steps_ = kWarmupSteps;
  TrialRecord record_;
};

// Plans a workload: where trials are wanted, with the first plan of the planner's search, else with plan_run().
// `most_steps`: 0 means no trials. When it is missing, trials are made where the planner has a search and ops can use
// slow memory in place, because elsewhere a late tensor can only be waited for (Sentinel §V). kBadInput when trials are
// asked for and the planner has none to make; otherwise plan_run()'s errors. `watch`: of plan_run().
Result<PlannedStart> start_planning(const train::Workload& workload, const memory::Machine& machine,
                                    const profile::Profile& profile, std::string_view planner,
                                    const train::FastBudget& fast, const profile::AccessProfile* accesses,
                                    const std::optional<std::int64_t>& most_steps,
                                    std::shared_ptr<const planners::PlanningWatch> watch = nullptr);

bool has_search(std::string_view planner);
// Whether it does without being asked for a number of trials.
bool tries_by_itself(std::string_view planner, const memory::Machine& machine);

// Trains from the beginning until the trials are over, or until `stop` says so, only to find the plan: the parameters
// are thrown away. Errors as of the session.
Result<TrialRecord> settle_in_training(train::Workload& workload, PlannedStart start, TrialOptions options,
                                       const train::SessionOptions& session_options, double learning_rate,
                                       const std::function<bool()>& stop);

}  // namespace sluice::experiment

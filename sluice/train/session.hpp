// A training run in progress: a verified plan or a policy, the executor that obeys it, the data and the parameters.
//
// create() verifies the plan against the workload and the machine, reserves the memory and gives every parameter its
// initial value. The loss and the parameters after any step depend on (workload, data, seed, learning rates) alone, not
// on plan, budget or tiers, nor on how often validate() is called. One caller at a time. Errors: a plan that breaks a
// rule (kMismatch, naming the rules), data that cannot be opened, memory or disk that cannot be had, and whatever stops
// a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "sluice/exec/executor.hpp"
#include "sluice/exec/policy/dtr_executor.hpp"
#include "sluice/exec/policy/policy_executor.hpp"
#include "sluice/graph/rewrite/scale_loss.hpp"
#include "sluice/policies/run.hpp"
#include "sluice/program/lowered_plan.hpp"
#include "sluice/sim/locality.hpp"
#include "sluice/sim/time_breakdown.hpp"
#include "sluice/train/checkpoint.hpp"
#include "sluice/train/evaluation.hpp"
#include "sluice/train/training.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::train {

struct SessionOptions {
  std::string data = "synthetic";         // as open_data_source() reads it
  kernels::InputSource* input = nullptr;  // instead of `data`; outlives the session
  std::uint64_t seed = 1;
  bool validate = false;  // validate() will be called: the split is opened at once, so that faults show early
  // Of a workload that has several: each has a session, and all make the same calls. Outlives it.
  kernels::Ranks* ranks = nullptr;
  bool alone = false;  // of a workload for several, to measure: what others send is taken to be like its own
  exec::EngineFactory engines =
      memory::make_engine;  // of a plan's links; a test's own fail where the test wants them to
};

class Session : public Training {
 public:
  // `workload` must outlive the session. It goes on from `state` (nullptr: begins one), whose last session has ended:
  // parameters start with the values that are there. After an error another session may go on from it.
  static Result<std::unique_ptr<Session>> create(Workload& workload, const memory::Machine& machine,
                                                 const policies::Run& run, const SessionOptions& options,
                                                 std::shared_ptr<RunState> state = nullptr);

  Result<StepOutcome> run_step(std::int64_t step, double learning_rate) override;

  // Every parameter and the optimizer's state as before the first step. A policy and its clock go on.
  Status give_initial_values();

  // Evaluates the present parameters on the validation split (`batches` of it; 0: all). Meanwhile the training's
  // executor is gone, and what the evaluation does not read waits on disk: the budget holds for both. After an error that
  // left the parameters as they were the session goes on; else, and of several ranks, it is over.
  Result<ValidationResult> validate(std::int64_t batches) override;

  // From the next step on the session obeys `plan`; parameters go on with the same bits (run_state.hpp). A plan that
  // breaks a rule or cannot be started (memory, disk) is refused with the reason, and the session goes on with the one it
  // had; when that cannot be started again either, the session is over.
  Status change_plan(const plan::Plan& plan);
  bool running() const override { return executor_ != nullptr; }  // not over

  // The session is over, and what it had is its run's: another session may go on.
  Status end();

  Result<std::string> hash_parameters();
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) override;
  std::optional<std::uintmax_t> checkpoint_bytes() const override;
  Result<std::int64_t> load_checkpoint(const std::filesystem::path& path);  // the step to run next
  ParameterAccess& parameters() { return *parameters_; }

  // What the ops of `last`, the last step, found in fast memory.
  sim::Locality locality(const program::StepTimes& last) const;
  // Where the time of a step of this session, under dtr the last one, went; nothing under other policies, which have no
  // plan of transfers.
  std::optional<sim::TimeBreakdown> breakdown(const program::StepTimes& step) const;

  // Policy::figures() or DtrExecutor::figures() of all steps; empty under a plan.
  std::vector<std::pair<std::string, double>> policy_figures() const;

  const policies::Run& run() const { return run_; }
  // Of the run's plan; change_plan() makes another one.
  const std::shared_ptr<const program::LoweredPlan>& lowered() const { return step_; }
  const plan::Plan& plan() const { return step_->plan(); }
  const program::Program& program() const { return step_->program(); }
  const graph::Graph& graph() const { return compiled().graph(); }  // whose ops the plan and the program run
  exec::Executor& executor() { return *executor_; }                 // validate() and change_plan() make another one
  std::vector<std::string> notes() const { return executor_->notes(); }

 private:
  Session(Workload& workload, const memory::Machine& machine, const SessionOptions& options)
      : workload_(workload), machine_(machine), options_(options) {}
  // Where nothing runs. `step` is of the run's plan.
  Status start(policies::Run run, std::shared_ptr<const program::LoweredPlan> step);
  Status start_under(const plan::Plan& plan);
  Status start_under(const policies::PagesRun& run);
  Status start_under(const policies::DtrRun& run);
  Status fill_parameters();
  Result<const graph::GivenValues*> given_values();
  void settle();  // gives back what steps do not need
  kernels::CompiledGraph& compiled() const { return *compiled_; }
  CheckpointIdentity identity() const;
  Result<float> mean_over_ranks(float loss) const;
  struct ScaleNow {
    float scale = 0, of_updates = 0, left_out = 0;
  };
  Result<ScaleNow> read_loss_scale();
  Status note_loss_scale(std::int64_t step, const ScaleNow& before, StepOutcome& outcome);

  Workload& workload_;
  memory::Machine machine_;
  SessionOptions options_;
  policies::Run run_;
  std::shared_ptr<const program::LoweredPlan> step_;
  std::shared_ptr<RunState> state_;
  bool begun_ = false;                                // every persistent tensor has a value
  std::shared_ptr<kernels::CompiledGraph> compiled_;  // the workload's, or that of a plan with a schedule
  kernels::InputSource* input_ = nullptr;             // the options', or one of these
  std::unique_ptr<kernels::InputSource> data_;
  std::unique_ptr<kernels::InputSource> own_data_;  // of this rank, where there are several
  std::unique_ptr<Evaluator> evaluator_;
  std::vector<graph::TensorId> losses_;
  std::optional<graph::LossScaleTensors> loss_scale_;  // where gradients are in fp16
  std::unique_ptr<exec::Executor> executor_;
  const exec::PolicyExecutor* under_policy_ = nullptr;  // executor_, where a policy over pages decides
  const exec::DtrExecutor* under_dtr_ = nullptr;        // executor_, where dtr decides
  exec::ExecutedCharges last_charges_;                  // of the last step, whose executor may be gone
  policies::DtrStep last_dtr_step_;
  std::unique_ptr<ParameterAccess> parameters_;
};

// The scalar outputs that make up the loss, ascending: what its ops make (graph/ops/op.hpp: is_loss).
std::vector<graph::TensorId> loss_tensors(const graph::Graph& graph);

}  // namespace sluice::train

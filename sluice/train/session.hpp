// A training run in progress: a verified plan, the executor that obeys it, the data and the parameters.
//
// create() verifies the plan against the workload and the machine, reserves the memory and gives every parameter its
// initial value. The loss and the parameters after any step depend on (workload, data, seed, learning rates) alone, not
// on plan, budget or tiers. One caller at a time. Errors: a plan that breaks a rule (kMismatch, naming the rules), data
// that cannot be opened, memory or disk that cannot be had, and whatever stops a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "sluice/exec/executor.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/train/checkpoint.hpp"
#include "sluice/train/workload.hpp"

namespace sluice {

struct SessionOptions {
  std::string data = "synthetic";  // as open_data_source() reads it
  std::uint64_t seed = 1;
};

struct StepOutcome {
  float loss = 0;
  StepTrace trace;
};

class Session {
 public:
  // `workload` must outlive the session.
  static Result<std::unique_ptr<Session>> create(Workload& workload, const Machine& machine, const Plan& plan,
                                                 const SessionOptions& options);

  Result<StepOutcome> run_step(std::int64_t step, float learning_rate);

  Result<std::string> hash_parameters();
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step);
  Result<std::int64_t> load_checkpoint(const std::filesystem::path& path);  // the step to run next

  const Program& program() const { return program_; }
  std::vector<std::string> notes() const { return executor_->notes(); }

 private:
  Session(Workload& workload, const SessionOptions& options) : workload_(workload), options_(options) {}
  CheckpointIdentity identity() const;

  Workload& workload_;
  SessionOptions options_;
  Program program_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<InputSource> data_;
  std::unique_ptr<ParameterAccess> parameters_;
  TensorId loss_ = 0;
};

// kMismatch naming every rule that the plan breaks; ok when it is safe for this graph and machine.
Status check_plan(const Graph& graph, const Machine& machine, const Plan& plan);

}  // namespace sluice

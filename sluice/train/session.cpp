#include "sluice/train/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/plan/verifier.hpp"
#include "sluice/train/data_source.hpp"

namespace sluice {
namespace {

TensorId loss_tensor(const Graph& graph) {
  const auto loss = std::ranges::find(graph.tensors(), Role::kOutput, &Tensor::role);
  SLUICE_CHECK(loss != graph.tensors().end(), "a training graph has a loss");
  return static_cast<TensorId>(loss - graph.tensors().begin());
}

}  // namespace

Status check_plan(const Graph& graph, const Machine& machine, const Plan& plan) {
  const std::vector<Violation> violations = verify_plan(graph, machine, plan);
  if (violations.empty()) return {};
  std::string message = fmt::format("the plan of '{}' for '{}' cannot be run:", plan.planner, plan.graph_name);
  for (const Violation& violation : violations) {
    message += fmt::format("\n  {}: {}", to_string(violation.rule), violation.message);
  }
  return Error{ErrorCode::kMismatch, message};
}

Result<std::unique_ptr<Session>> Session::create(Workload& workload, const Machine& machine, const Plan& plan,
                                                 const SessionOptions& options) {
  const Graph& graph = workload.graph();
  SLUICE_RETURN_IF_ERROR(check_plan(graph, machine, plan));
  std::unique_ptr<Session> session(new Session(workload, options));
  SLUICE_ASSIGN(session->data_, open_data_source(options.data, image_set_shape(graph), options.seed));
  session->loss_ = loss_tensor(graph);
  session->program_ = lower_plan(graph, machine, plan);
  SLUICE_ASSIGN(session->executor_, Executor::create(*workload.compiled, machine, session->program_, plan.budgets));
  session->parameters_ = std::make_unique<ParameterAccess>(*workload.compiled, *session->executor_);
  SLUICE_RETURN_IF_ERROR(initialise_parameters(*session->parameters_, options.seed));
  return session;
}

Result<StepOutcome> Session::run_step(std::int64_t step, float learning_rate) {
  StepOutcome outcome;
  SLUICE_ASSIGN(outcome.trace, executor_->run_step({step, learning_rate, data_.get()}));
  SLUICE_ASSIGN(const std::span<const float> loss, parameters_->read(loss_));
  outcome.loss = loss[0];
  return outcome;
}

Result<std::string> Session::hash_parameters() { return parameter_hash(*parameters_); }

CheckpointIdentity Session::identity() const {
  return {workload_.options.model, workload_.logical_fingerprint, image_set_shape(workload_.graph()).batch,
          options_.seed, options_.data.substr(0, options_.data.find(':'))};
}

Status Session::save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) {
  return write_checkpoint(path, identity(), next_step, *parameters_);
}

Result<std::int64_t> Session::load_checkpoint(const std::filesystem::path& path) {
  return read_checkpoint(path, identity(), *parameters_);
}

}  // namespace sluice

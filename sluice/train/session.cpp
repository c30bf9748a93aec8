#include "sluice/train/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/as_result.hpp"
#include "sluice/data/data_source.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/memory/process_memory.hpp"
#include "sluice/sim/dtr_simulator.hpp"
#include "sluice/sim/policy_simulator.hpp"
#include "sluice/train/rank_agreement.hpp"

namespace sluice::train {

std::vector<graph::TensorId> loss_tensors(const graph::Graph& graph) {
  std::set<graph::TensorId> found;
  for (const graph::Op& op : graph.ops()) {
    if (graph::is_loss(op.kind)) found.insert(op.outputs.front());
  }
  SLUICE_CHECK(!found.empty(), "a training graph has a loss");
  return {found.begin(), found.end()};
}

namespace {

// Every rank's batches: the first rank's first one, the second rank's first one, ...
class OwnBatches : public kernels::InputSource {
 public:
  OwnBatches(kernels::InputSource& all, const kernels::Ranks& ranks) : all_(all), ranks_(ranks) {}
  Status fill(std::int64_t batch, std::span<const std::span<std::byte>> tensors) override {
    return all_.fill(batch * ranks_.count() + ranks_.rank(), tensors);
  }

 private:
  kernels::InputSource& all_;
  const kernels::Ranks& ranks_;
};

}  // namespace

Result<std::unique_ptr<Session>> Session::create(Workload& workload, const memory::Machine& machine,
                                                 const policies::Run& run, const SessionOptions& options,
                                                 std::shared_ptr<RunState> state) {
  const graph::Graph& graph = workload.graph();
  std::unique_ptr<Session> session(new Session(workload, machine, options));
  session->state_ = state ? std::move(state) : std::make_shared<RunState>(machine, options.ranks);
  session->input_ = options.input;
  if (options.input == nullptr) {
    SLUICE_ASSIGN(session->data_, data::open_data_source(options.data, data::input_tensors(graph), options.seed));
    session->input_ = session->data_.get();
  }
  const int ranks = options.ranks == nullptr ? 1 : options.ranks->count();
  if (ranks != workload.options.optimizer.ranks && !options.alone) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a step of {} ranks runs under mpirun -n {} sluice train",
                             workload.options.optimizer.ranks, workload.options.optimizer.ranks)};
  }
  if (ranks > 1) {
    session->own_data_ = std::make_unique<OwnBatches>(*session->input_, *options.ranks);
    session->input_ = session->own_data_.get();
  }
  if (options.validate) {
    SLUICE_ASSIGN(session->evaluator_, Evaluator::create(workload, options.data, options.seed));
  }
  session->losses_ = loss_tensors(graph);
  session->loss_scale_ = graph::loss_scale_tensors(graph);
  SLUICE_ASSIGN(auto step, program::LoweredPlan::make(graph, machine, policies::plan_of(run)));
  SLUICE_RETURN_IF_ERROR(session->start(run, std::move(step)));
  return session;
}

Status Session::start(policies::Run run, std::shared_ptr<const program::LoweredPlan> step) {
  run_ = std::move(run);
  step_ = std::move(step);
  const graph::Rescheduled* rescheduled = step_->step().rescheduled();
  compiled_ = rescheduled == nullptr ? exec::kept_elsewhere(*workload_.compiled)
                                     : workload_.compiled->rescheduled(*rescheduled);
  under_policy_ = nullptr;
  under_dtr_ = nullptr;
  kernels::forget_unused_kernels();
  memory::return_free_memory();  // planning and lowering took more than steps do: before the arena is there too
  SLUICE_RETURN_IF_ERROR(std::visit([this](const auto& each) { return start_under(each); }, run_));
  parameters_ = std::make_unique<ParameterAccess>(compiled(), *executor_, options_.ranks);
  const Status filled = fill_parameters();
  if (!filled.ok()) {
    parameters_.reset();
    executor_.reset();
    return filled;
  }
  settle();
  return {};
}

Status Session::end() {
  if (executor_ == nullptr) return {};
  if (!policies::is_planned(run_)) SLUICE_RETURN_IF_ERROR(state_->park(*parameters_));
  parameters_.reset();
  executor_.reset();
  return {};
}

void Session::settle() {
  parameters_->release();
  kernels::forget_unused_kernels();
  memory::return_free_memory();
}

Status Session::start_under(const plan::Plan& plan) {
  SLUICE_RETURN_IF_ERROR(state_->change_to(compiled_, {graph(), program(), plan.budgets}));
  SLUICE_ASSIGN(executor_, exec::Executor::create(state_->memory(), program(), options_.engines));
  return {};
}

// Policies have memory of their own.
Status Session::start_under(const policies::PagesRun& run) {
  SLUICE_RETURN_IF_ERROR(state_->leave_memory());
  SLUICE_ASSIGN(std::unique_ptr<exec::PolicyExecutor> executor,
                exec::PolicyExecutor::create(compiled(), machine_, program(), run.plan.budgets, run.policy));
  under_policy_ = executor.get();
  executor_ = std::move(executor);
  return {};
}

Status Session::start_under(const policies::DtrRun& run) {
  SLUICE_RETURN_IF_ERROR(state_->leave_memory());
  SLUICE_ASSIGN(std::unique_ptr<exec::DtrExecutor> executor,
                exec::DtrExecutor::create(compiled(), machine_, run.policy.fast_bytes));
  under_dtr_ = executor.get();
  executor_ = std::move(executor);
  return {};
}

Status Session::give_initial_values() {
  SLUICE_ASSIGN(const graph::GivenValues* given, given_values());
  SLUICE_RETURN_IF_ERROR(initialise_parameters(*parameters_, options_.seed, given));
  workload_.values.reset();
  settle();
  return {};
}

Status Session::fill_parameters() {
  const std::vector<graph::TensorId> missing =
      policies::is_planned(run_) ? state_->to_be_written() : persistent_tensors(graph());
  if (begun_) return state_->parked().restore(*parameters_, missing);
  const graph::GivenValues* given = nullptr;
  if (!state_->parked().holds_all_of(graph(), missing)) {
    SLUICE_ASSIGN(given, given_values());
  }
  SLUICE_RETURN_IF_ERROR(state_->parked().restore_or_initialise(*parameters_, missing, options_.seed, given));
  begun_ = true;
  workload_.values.reset();
  return {};
}

// nullptr: the model came without.
Result<const graph::GivenValues*> Session::given_values() {
  if (needs_given_values(workload_.graph()) && !workload_.values) {  // an earlier session has used them
    SLUICE_ASSIGN(ForwardModel again, build_forward(workload_.options));
    workload_.values = std::move(again.values);
  }
  return workload_.values.get();
}

Result<StepOutcome> Session::run_step(std::int64_t step, double learning_rate) {
  SLUICE_CHECK(executor_ != nullptr, "the session is not over");
  ScaleNow before;
  if (loss_scale_) {
    SLUICE_ASSIGN(before, read_loss_scale());
  }
  StepOutcome outcome;
  SLUICE_ASSIGN(outcome.trace, executor_->run_step({step, learning_rate, input_, options_.ranks, options_.seed}));
  if (under_policy_ != nullptr) last_charges_ = under_policy_->last_step();
  if (under_dtr_ != nullptr) last_dtr_step_ = under_dtr_->last_step();
  for (const graph::TensorId loss : losses_) {
    SLUICE_ASSIGN(const std::span<const float> value, parameters_->read(loss));
    outcome.loss += value[0];
  }
  outcome.loss /= static_cast<float>(workload_.options.optimizer.accumulate);
  SLUICE_ASSIGN(outcome.loss, mean_over_ranks(outcome.loss));
  if (loss_scale_) SLUICE_RETURN_IF_ERROR(note_loss_scale(step, before, outcome));
  return outcome;
}

Result<Session::ScaleNow> Session::read_loss_scale() {
  ScaleNow now;
  SLUICE_ASSIGN(const std::span<const float> scale, parameters_->read(loss_scale_->scale));
  now.scale = scale[0];
  SLUICE_ASSIGN(const std::span<const float> of_updates, parameters_->read(loss_scale_->of_updates));
  now.of_updates = of_updates[0];
  SLUICE_ASSIGN(const std::span<const float> counts, parameters_->read(loss_scale_->counts));
  now.left_out = counts[1];
  return now;
}

Status Session::note_loss_scale(std::int64_t step, const ScaleNow& before, StepOutcome& outcome) {
  SLUICE_ASSIGN(const ScaleNow now, read_loss_scale());
  outcome.loss_scale = now.scale;
  outcome.left_out = now.left_out != before.left_out;
  if (!outcome.left_out || before.of_updates > graph::kLeastLossScale) return {};
  return Error{
      ErrorCode::kBadInput,
      fmt::format("step {}: gradients overflow fp16 even with a loss scale of {}, after {} updates left out; lower "
                  "--lr, or take --precision bf16-masters, whose range is that of fp32",
                  step + 1, graph::kLeastLossScale, before.left_out)};
}

Result<float> Session::mean_over_ranks(float loss) const {
  if (options_.ranks == nullptr) return loss;
  std::vector<float> losses(as_index(options_.ranks->count()));
  SLUICE_RETURN_IF_ERROR(options_.ranks->gather(kernels::Channel::kBetweenSteps, std::as_bytes(std::span(&loss, 1)),
                                                sizeof(loss), std::as_writable_bytes(std::span(losses))));
  return std::accumulate(losses.begin(), losses.end(), 0.0F) / static_cast<float>(losses.size());
}

std::vector<std::pair<std::string, double>> Session::policy_figures() const {
  if (under_dtr_ != nullptr) return under_dtr_->figures();
  if (under_policy_ == nullptr) return {};
  return under_policy_->figures();
}

Result<ValidationResult> Session::validate(std::int64_t batches) {
  SLUICE_CHECK(evaluator_ != nullptr && executor_ != nullptr, "the session was made for validation and is not over");
  plan::Plan training = plan();
  if (under_dtr_ != nullptr) training.budgets.at(memory::kFastTier) = policies::usable_fast_bytes(run_);
  SLUICE_RETURN_IF_ERROR(end());
  Result<ValidationResult> result = as_result([&] { return evaluator_->run(machine_, training, *state_, batches); });
  if (!result.ok() && options_.ranks != nullptr) return result;  // others may have got further
  const Status again = start(run_, step_);
  if (again.ok()) state_->parked().forget();  // all is in memory again
  if (again.ok() || !result.ok()) return result;
  return again.error();
}

Status Session::change_plan(const plan::Plan& plan) {
  SLUICE_CHECK(executor_ != nullptr, "the session is not over");
  SLUICE_ASSIGN(auto next, program::LoweredPlan::make(workload_.graph(), machine_, plan));
  const policies::Run run_before = run_;
  const std::shared_ptr<const program::LoweredPlan> step_before = step_;
  SLUICE_RETURN_IF_ERROR(end());
  const Status started = start(plan, std::move(next));
  const Status again = started.ok() ? Status() : start(run_before, step_before);
  if (again.ok()) {
    state_->parked().forget();  // all is in memory again
    return started;
  }
  return Error{again.error().code, fmt::format("{}; and the plan before cannot be started again: {}",
                                               started.error().message, again.error().message)};
}

sim::Locality Session::locality(const program::StepTimes& last) const {
  if (under_policy_ == nullptr) return sim::measure_locality(graph(), program(), last);
  std::vector<Seconds> op_ends;
  for (const program::Span& op : last.ops) op_ends.push_back(op.end);
  return sim::summarise_locality(last_charges_.ops, op_ends, last.step_seconds);
}

std::optional<sim::TimeBreakdown> Session::breakdown(const program::StepTimes& step) const {
  if (under_dtr_ != nullptr) return sim::break_down(last_dtr_step_, step.step_seconds);
  if (under_policy_ != nullptr) return std::nullopt;
  return sim::break_down(program(), sim::ops_run_again(plan()), step);
}

Result<std::string> Session::hash_parameters() { return parameter_hash(*parameters_); }

CheckpointIdentity Session::identity() const { return identity_of(workload_, options_.data, options_.seed); }

Status Session::save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) {
  SLUICE_CHECK(executor_ != nullptr, "the session is not over");
  Status written;
  const Status read = write_checkpoint(path, identity(), next_step, *parameters_, written);
  if (options_.ranks == nullptr) return read.ok() ? written : read;
  const Result<bool> failed = read.ok() ? any_rank(options_.ranks, !written.ok()) : Result<bool>(read.error());
  if (!failed.ok()) {  // this rank is where no other one is
    parameters_.reset();
    executor_.reset();
    return failed.error();
  }
  if (!*failed || !written.ok()) return written;
  return Error{ErrorCode::kIo, "the first rank could not write the checkpoint"};
}

std::optional<std::uintmax_t> Session::checkpoint_bytes() const {
  if (!parameters_ || !parameters_->first_rank()) return std::nullopt;
  return bytes_of_checkpoint(graph());
}

Result<std::int64_t> Session::load_checkpoint(const std::filesystem::path& path) {
  return read_checkpoint(path, identity(), *parameters_);
}

}  // namespace sluice::train

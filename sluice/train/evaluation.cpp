#include "sluice/train/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/base/as_result.hpp"
#include "sluice/data/data_source.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/program/program.hpp"
#include "sluice/train/planning/estimated_profile.hpp"

namespace sluice::train {
namespace {

// Keeps a copy of the labels on their way into the step.
class LabelKeeper : public kernels::InputSource {
 public:
  LabelKeeper(kernels::InputSource& source, std::size_t index) : source_(source), index_(index) {}

  Status fill(std::int64_t step, std::span<const std::span<std::byte>> tensors) override {
    SLUICE_RETURN_IF_ERROR(source_.fill(step, tensors));
    const std::span<std::byte> bytes = tensors[index_];
    const auto* first = reinterpret_cast<const std::int32_t*>(bytes.data());
    labels_.assign(first, first + bytes.size() / sizeof(std::int32_t));
    return {};
  }

  const std::vector<std::int32_t>& labels() const { return labels_; }

 private:
  kernels::InputSource& source_;
  std::size_t index_;
  std::vector<std::int32_t> labels_;
};

}  // namespace

// The loss whose predictions are judged.
struct Evaluator::Head {
  graph::TensorId loss = 0;
  graph::TensorId probabilities = 0;
  std::size_t labels = 0;  // index among the input op's tensors
  bool images = false;     // their labels, not tokens
};

namespace {

// The last cross-entropy of the graph: earlier ones are of auxiliary classifiers.
Result<const graph::Op*> find_loss(const graph::Graph& graph) {
  const auto found = std::find_if(graph.ops().rbegin(), graph.ops().rend(),
                                  [](const graph::Op& op) { return op.kind == graph::OpKind::kSoftmaxCrossEntropy; });
  if (found != graph.ops().rend()) return &*found;
  return Error{ErrorCode::kBadInput,
               fmt::format("{} predicts no classes, so there is no accuracy or perplexity to measure", graph.name)};
}

std::size_t position_of(std::span<const data::InputTensor> tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &data::InputTensor::name);
  SLUICE_CHECK(found != tensors.end(), "labels are an input of the step: " + name);
  return as_index(found - tensors.begin());
}

Result<std::vector<float>> read_values(kernels::CompiledGraph& compiled, exec::Executor& executor, graph::TensorId id) {
  ParameterAccess access(compiled, executor);
  SLUICE_ASSIGN(const std::span<const float> values, access.read(id));
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace

double ValidationResult::perplexity() const { return std::exp(loss); }

std::string describe(const ValidationResult& result) {
  if (result.accuracy) {
    return fmt::format("accuracy {:.2f} %, loss {:.4f} over {} {}", 100 * *result.accuracy, result.loss,
                       result.predictions, result.per_image == 1 ? "images" : "pixels");
  }
  return fmt::format("perplexity {:.2f}, loss {:.4f} over {} tokens", result.perplexity(), result.loss,
                     result.predictions);
}

Result<std::unique_ptr<Evaluator>> Evaluator::create(const Workload& workload, const std::string& data,
                                                     std::uint64_t seed) {
  if (!data::has_validation_split(data)) {
    return Error{ErrorCode::kBadInput, fmt::format("--data {} has no validation split", data)};
  }
  std::unique_ptr<Evaluator> evaluator(new Evaluator());
  evaluator->seed_ = seed;
  SLUICE_RETURN_IF_ERROR(find_loss(workload.graph()));
  const graph::Graph logical =
      graph::prepare_evaluation_graph(workload.forward, workload.options.precision, workload.options.finer_slices);
  SLUICE_ASSIGN(evaluator->compiled_,
                kernels::compile_for(logical, {{workload.options.threads, workload.options.backend}}));
  const graph::Graph& graph = evaluator->compiled_->graph();
  const std::vector<data::InputTensor> inputs = data::input_tensors(graph);
  SLUICE_ASSIGN(evaluator->source_, data::open_data_source(data, inputs, seed, data::Split::kValidation));
  SLUICE_ASSIGN(const graph::Op* loss, find_loss(graph));
  const std::size_t labels = position_of(inputs, graph.tensor(loss->inputs.at(1)).name);
  evaluator->head_ = std::make_shared<Head>(
      Head{loss->outputs.at(0), loss->outputs.at(1), labels, inputs[labels].content == graph::Content::kLabels});
  return evaluator;
}

std::int64_t Evaluator::batch_count() const {
  const std::int64_t batch = data::batch_size(compiled_->graph());
  const std::int64_t samples = source_->sample_count();
  return head_->images ? (samples + batch - 1) / batch : std::max<std::int64_t>(1, samples / batch);
}

Result<plan::Plan> Evaluator::plan(const memory::Machine& machine, const plan::Plan& training) const {
  const graph::Graph& graph = compiled_->graph();
  const profile::Profile profile = estimated_profile(graph, machine);
  const planners::PlanRequest request{graph, profile, machine, training.budgets};
  if (planners::fast_only_bytes(graph) <= training.budgets[memory::kFastTier])
    return planners::make_plan(planners::kBaselinePlanner, request);
  if (planners::find_planner(training.planner) != nullptr && training.planner != planners::kBaselinePlanner) {
    Result<plan::Plan> plan = planners::make_plan(training.planner, request);
    if (plan.ok() && plan->schedule.empty()) return plan;  // what is evaluated runs in its own order
  }
  return planners::make_plan("on-demand", request);
}

Result<Evaluator::Started> Evaluator::start(const memory::Machine& machine, const plan::Plan& training,
                                            RunState& state) const {
  const graph::Graph& graph = compiled_->graph();
  SLUICE_ASSIGN(const plan::Plan chosen, plan(machine, training));
  program::Program program = program::lower_plan(graph, machine, chosen).value();
  const bool moves = std::ranges::any_of(program.transfers, [&](const program::TransferInstruction& transfer) {
    const auto persists = [&](graph::TensorId id) { return graph::is_persistent(graph.tensor(id).role); };
    return persists(transfer.tensor) || std::ranges::any_of(transfer.others, persists, &program::TransferPart::tensor);
  });
  SLUICE_RETURN_IF_ERROR(state.change_to(compiled_, {graph, program, chosen.budgets}));
  SLUICE_ASSIGN(auto executor, exec::Executor::create(state.memory(), std::move(program)));
  ParameterAccess access(*compiled_, *executor);
  SLUICE_RETURN_IF_ERROR(state.parked().restore(access, state.to_be_written()));
  if (moves) SLUICE_RETURN_IF_ERROR(state.park());
  return Started{std::move(executor), moves};
}

Result<ValidationResult> Evaluator::run(const memory::Machine& machine, const plan::Plan& training, RunState& state,
                                        std::int64_t batches) {
  SLUICE_ASSIGN(Started started, start(machine, training, state));
  Result<ValidationResult> result = as_result([&] { return run_batches(*started.executor, batches); });
  started.executor.reset();
  if (!result.ok()) state.outlive_evaluation(started.moves_parameters);
  return result;
}

Result<ValidationResult> Evaluator::run_batches(exec::Executor& executor, std::int64_t batches) {
  ValidationResult result;
  result.batches = batches > 0 ? std::min(batches, batch_count()) : batch_count();
  LabelKeeper source(*source_, head_->labels);
  for (std::int64_t batch = 0; batch < result.batches; ++batch) {
    SLUICE_RETURN_IF_ERROR(executor.run_step({.step = batch, .input = &source, .seed = seed_}));
    SLUICE_RETURN_IF_ERROR(add_batch(executor, batch, source.labels(), result));
  }
  result.loss /= static_cast<double>(std::max<std::int64_t>(1, result.predictions));
  if (result.accuracy) *result.accuracy /= static_cast<double>(result.predictions);
  return result;
}

// Sums go into `result`; run_batches() divides them.
Status Evaluator::add_batch(exec::Executor& executor, std::int64_t batch, std::span<const std::int32_t> labels,
                            ValidationResult& result) {
  if (head_->images) return add_images(executor, batch, labels, result);
  SLUICE_ASSIGN(const std::vector<float> loss, read_values(*compiled_, executor, head_->loss));
  const std::int64_t guessed = std::ranges::count_if(labels, [](std::int32_t label) { return label >= 0; });
  result.loss += static_cast<double>(loss[0]) * static_cast<double>(guessed);
  result.predictions += guessed;
  return {};
}

Status Evaluator::add_images(exec::Executor& executor, std::int64_t batch, std::span<const std::int32_t> labels,
                             ValidationResult& result) {
  SLUICE_ASSIGN(const std::vector<float> probabilities, read_values(*compiled_, executor, head_->probabilities));
  const std::size_t classes = probabilities.size() / labels.size();
  const std::int64_t samples = data::batch_size(compiled_->graph());
  const std::int64_t new_samples =
      std::min(samples, source_->sample_count() - batch * samples);  // the last one wraps around
  result.per_image = std::ssize(labels) / samples;
  const std::int64_t new_rows = new_samples * result.per_image;
  if (!result.accuracy) result.accuracy = 0;
  for (std::int64_t row = 0; row < new_rows; ++row) {
    const auto index = as_index(row);
    const auto values = std::span(probabilities).subspan(index * classes, classes);
    const auto label = as_index(labels[index]);
    *result.accuracy += as_index(std::ranges::max_element(values) - values.begin()) == label ? 1 : 0;
    result.loss -= std::log(std::max(static_cast<double>(values[label]), 1e-30));
  }
  result.predictions += new_rows;
  return {};
}

}  // namespace sluice::train

#include "sluice/experiment/module/module_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/experiment/machine_probe.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/onnx/given_weights.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/planning/planning_advice.hpp"

namespace sluice::experiment {
namespace {

// Whether the graph has parts of an initializer alone: then the rest has to be remembered.
bool is_partial(const onnx::WeightExpression& weights) {
  if (weights.kind == onnx::WeightExpression::Kind::kSlice) return true;
  return std::ranges::any_of(weights.parts, [](const onnx::Weights& part) { return is_partial(*part); });
}

// Initializers that the first output is computed from.
std::set<std::string> read_initializers(const ::onnx::GraphProto& graph) {
  std::map<std::string, const ::onnx::NodeProto*> makers;
  for (const ::onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) makers[output] = &node;
  }
  std::set<std::string> seen, initializers;
  for (const ::onnx::TensorProto& each : graph.initializer()) initializers.insert(each.name());
  std::vector<std::string> wanted{graph.output(0).name()};
  while (!wanted.empty()) {
    const std::string name = wanted.back();
    wanted.pop_back();
    if (name.empty() || !seen.insert(name).second || !makers.contains(name)) continue;
    for (const std::string& input : makers.at(name)->input()) wanted.push_back(input);
  }
  std::erase_if(initializers, [&](const std::string& name) { return !seen.contains(name); });
  return initializers;
}

// The graph has to train what the module does.
Status check_trained(const onnx::ImportedModel& model, const std::map<std::string, int>& trained) {
  std::set<std::string> in_graph;
  for (const auto& [parameter, weights] : model.sources) weights->collect_initializers(in_graph);
  for (const std::string& name : read_initializers(model.model->graph())) {
    if (!trained.contains(name) || in_graph.contains(name)) continue;
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'{}' is a parameter that the graph has as a constant: it would not be trained", name)};
  }
  if (!model.softmax_in_loss) return {};
  return Error{ErrorCode::kUnsupported,
               "the module ends in a softmax, and the cross-entropy has its own: let it give logits instead"};
}

Result<onnx::ImportedModel> import_module(const ModuleTrainingOptions& options, std::int64_t samples) {
  onnx::OnnxOptions wanted{.trained = options.trained, .given = true, .batch = samples};
  if (options.own_loss) wanted.loss = onnx::OnnxLoss::kFirstOutput;
  return onnx::import_model(options.onnx, wanted);
}

std::map<std::string, graph::ParameterSettings> settings_by_parameter(const ModuleTrainingOptions& options,
                                                                      const onnx::ParameterSources& sources) {
  std::map<std::string, graph::ParameterSettings> settings;
  for (const auto& [parameter, weights] : sources) {
    std::set<std::string> names;
    weights->collect_initializers(names);
    const auto group = names.empty() ? options.trained.end() : options.trained.find(*names.begin());
    if (group != options.trained.end()) settings[parameter] = options.groups.at(as_index(group->second));
  }
  return settings;
}

// A share is one of what the step takes where nobody says how much, whether this machine has that or not.
Result<MemorySize> resolved(const MemorySize& fast, const train::Workload& workload, memory::Machine machine) {
  if (std::holds_alternative<Bytes>(fast.value)) return fast;
  machine.tiers[memory::kFastTier].capacity = std::numeric_limits<Bytes>::max();
  SLUICE_ASSIGN(const plan::Plan whole, train::plan_tightly(workload, machine));
  return MemorySize{fast.resolve(whole.arena_bytes[memory::kFastTier])};
}

Result<plan::Plan> plan_in(const ModuleTrainingOptions& options, const train::Workload& workload,
                           memory::Machine& machine) {
  if (!options.fast) return train::plan_tightly(workload, machine);
  SLUICE_ASSIGN(const MemorySize fast, resolved(*options.fast, workload, machine));
  profile::ProfileCache cache = profile::ProfileCache::open(machine.compute_fingerprint());
  SLUICE_RETURN_IF_ERROR(probe_machine(machine, cache, Probe::kUseCache));
  SLUICE_ASSIGN(const profile::Profile profile, measure::measure_profile(*workload.compiled, machine, cache));
  Result<plan::Plan> plan = train::plan_workload(workload, machine, profile, options.planner, {.size = fast});
  if (plan.ok()) return plan;
  return train::advised(workload, machine, profile, options.planner, {.size = fast}, nullptr, plan.error());
}

Result<memory::Machine> machine_for(const ModuleTrainingOptions& options) {
  memory::MachineOptions machine{.threads = options.threads, .spill_path = options.folder};
  if (!options.fast || options.folder.empty()) machine.slow.clear();
  return memory::make_machine(machine);
}

}  // namespace

struct ModuleTraining::Prepared {
  train::Workload workload;
  memory::Machine machine;
  plan::Plan plan;
};

class ModuleTraining::GivenBatch : public kernels::InputSource {
 public:
  void give(std::span<const std::span<const std::byte>> batch) { batch_ = batch; }

  Status fill(std::int64_t /*batch*/, std::span<const std::span<std::byte>> tensors) override {
    for (std::size_t each = 0; each < tensors.size(); ++each) std::ranges::copy(batch_[each], tensors[each].begin());
    return {};
  }

 private:
  std::span<const std::span<const std::byte>> batch_;
};

ModuleTraining::ModuleTraining(const ModuleTrainingOptions& options)
    : options_(options), batch_(std::make_unique<GivenBatch>()) {}

ModuleTraining::~ModuleTraining() = default;

Result<std::unique_ptr<ModuleTraining>> ModuleTraining::create(const ModuleTrainingOptions& options) {
  std::unique_ptr<ModuleTraining> training(new ModuleTraining(options));
  SLUICE_RETURN_IF_ERROR(training->prepare(options.samples));
  training->samples_ = options.samples;
  return training;
}

Status ModuleTraining::begin() {
  Prepared& first = *by_samples_.at(samples_);
  run_ = std::make_shared<train::RunState>(first.machine);
  SLUICE_RETURN_IF_ERROR(start(first));
  initial_.reset();
  return {};
}

Status ModuleTraining::prepare(std::int64_t samples) {
  train::ForwardModel forward;
  {
    SLUICE_ASSIGN(onnx::ImportedModel model, import_module(options_, samples));
    SLUICE_RETURN_IF_ERROR(check_trained(model, options_.trained));
    if (by_samples_.empty()) {
      sources_ = model.sources;
      notes_ = model.notes;
      initial_ = model.initializers;
      forward.values = std::make_shared<onnx::GivenWeights>(model.initializers, model.sources);
      SLUICE_RETURN_IF_ERROR(keep_partial(*model.initializers));
    }
    forward.graph = std::move(model.forward);
  }
  auto prepared = std::make_unique<Prepared>();
  train::WorkloadOptions workload{.onnx = options_.onnx, .optimizer = options_.optimizer};
  workload.optimizer.rematerialize = graph::Rematerialize::kChains;
  workload.optimizer.by_parameter = settings_by_parameter(options_, sources_);
  workload.shape.batch = samples;
  workload.threads = options_.threads;
  SLUICE_ASSIGN(prepared->workload, train::build_workload(std::move(forward), workload));
  SLUICE_ASSIGN(prepared->machine, machine_for(options_));
  SLUICE_ASSIGN(prepared->plan, plan_in(options_, prepared->workload, prepared->machine));
  by_samples_[samples] = std::move(prepared);
  return {};
}

Status ModuleTraining::keep_partial(const onnx::Initializers& initializers) {
  for (const auto& [parameter, weights] : sources_) {
    std::set<std::string> names;
    if (is_partial(*weights)) weights->collect_initializers(names);
    for (const std::string& name : names) {
      const onnx::TensorSource& source = *initializers.find(name);
      std::vector<float>& values = kept_[name];
      values.resize(as_index(source.count));
      SLUICE_RETURN_IF_ERROR(onnx::read_floats(source, 0, values));
    }
  }
  return {};
}

Status ModuleTraining::start(Prepared& prepared) {
  train::SessionOptions session{.input = batch_.get(), .seed = options_.seed};
  SLUICE_ASSIGN(session_, train::Session::create(prepared.workload, prepared.machine, prepared.plan, session, run_));
  return {};
}

std::vector<data::InputTensor> ModuleTraining::inputs() const {
  return data::input_tensors(by_samples_.at(samples_)->workload.graph());
}

Status ModuleTraining::check_running() const {
  if (session_ != nullptr) return {};
  return Error{ErrorCode::kOutOfSpace, "the training ended when a batch of another size could not be planned or held"};
}

// Where the other batch cannot be had, training goes on with this one.
Status ModuleTraining::change_batch(std::int64_t samples) {
  const std::scoped_lock lock(turn_);
  SLUICE_RETURN_IF_ERROR(check_running());
  if (samples == samples_) return {};
  if (!by_samples_.contains(samples)) SLUICE_RETURN_IF_ERROR(prepare(samples));
  Prepared& next = *by_samples_.at(samples);
  SLUICE_RETURN_IF_ERROR(session_->end());
  session_.reset();
  const Status started = start(next);
  if (started.ok()) {
    samples_ = samples;
    return {};
  }
  SLUICE_RETURN_IF_ERROR(start(*by_samples_.at(samples_)));
  return started;
}

Result<train::StepOutcome> ModuleTraining::step(std::span<const std::span<const std::byte>> batch,
                                                double learning_rate) {
  const std::scoped_lock lock(turn_);
  SLUICE_RETURN_IF_ERROR(check_running());
  const std::vector<data::InputTensor> wanted = inputs();
  SLUICE_CHECK(batch.size() == wanted.size(), "a batch has all tensors");
  for (std::size_t each = 0; each < batch.size(); ++each) {
    if (std::ssize(batch[each]) == 4 * wanted[each].elements()) continue;
    return Error{ErrorCode::kBadInput, fmt::format("'{}' has {} elements of 4 bytes; got {} bytes", wanted[each].name,
                                                   wanted[each].elements(), batch[each].size())};
  }
  batch_->give(batch);
  SLUICE_ASSIGN(train::StepOutcome outcome, session_->run_step(steps_, learning_rate));
  ++steps_;
  return outcome;
}

std::vector<std::string> ModuleTraining::changing() const {
  std::set<std::string> names;
  for (const auto& [parameter, weights] : sources_) weights->collect_initializers(names);
  return {names.begin(), names.end()};
}

std::vector<std::string> ModuleTraining::parameters_of(const std::string& initializer) const {
  std::vector<std::string> found;
  for (const auto& [parameter, weights] : sources_) {
    std::set<std::string> names;
    weights->collect_initializers(names);
    if (names.contains(initializer)) found.push_back(parameter);
  }
  return found;
}

// The initializer, and the others that lie in parameters with it. Of the state, what is not in the graph is zero.
Result<onnx::InitializerValues> ModuleTraining::current(const std::string& initializer, const std::string& state) {
  onnx::InitializerValues values;
  const std::vector<std::string> parameters = parameters_of(initializer);
  for (const std::string& parameter : parameters) {
    std::set<std::string> names;
    sources_.at(parameter)->collect_initializers(names);
    for (const std::string& name : names) {
      const auto kept = kept_.find(name);
      if (kept == kept_.end()) continue;
      values[name] = state.empty() ? kept->second : std::vector<float>(kept->second.size());
    }
  }
  for (const std::string& parameter : parameters) {
    SLUICE_ASSIGN(std::vector<float> trained, train::read_whole(session_->parameters(), {parameter, state}));
    onnx::write_back_weights(*sources_.at(parameter), std::move(trained), values);
  }
  session_->parameters().release();
  return values;
}

Status ModuleTraining::read(const std::string& initializer, const std::string& state, std::span<float> values) {
  const std::scoped_lock lock(turn_);
  if (initial_ != nullptr && state.empty()) return onnx::read_floats(*initial_->find(initializer), 0, values);
  SLUICE_RETURN_IF_ERROR(check_running());
  SLUICE_ASSIGN(const onnx::InitializerValues now, current(initializer, state));
  const auto found = now.find(initializer);
  if (found == now.end() || found->second.size() != values.size()) {
    return bad_input(fmt::format("'{}' is not trained, or has another shape", initializer));
  }
  std::ranges::copy(found->second, values.begin());
  return {};
}

Status ModuleTraining::write(const std::string& initializer, const std::string& state, std::span<const float> values) {
  const std::scoped_lock lock(turn_);
  SLUICE_RETURN_IF_ERROR(check_running());
  SLUICE_ASSIGN(onnx::InitializerValues now, current(initializer, state));
  now[initializer].assign(values.begin(), values.end());
  if (const auto kept = kept_.find(initializer); kept != kept_.end() && state.empty()) kept->second = now[initializer];
  const onnx::ReadInitializer part = [&](const std::string& name, std::int64_t first, std::span<float> into) {
    std::copy_n(now.at(name).begin() + first, into.size(), into.begin());
    return Status();
  };
  for (const std::string& parameter : parameters_of(initializer)) {
    const onnx::WeightExpression& weights = *sources_.at(parameter);
    std::vector<float> whole(static_cast<std::size_t>(graph::element_count(weights.shape)));
    SLUICE_RETURN_IF_ERROR(onnx::evaluate_weights(weights, part, 0, whole));
    SLUICE_RETURN_IF_ERROR(train::write_whole(session_->parameters(), {parameter, state}, whole));
  }
  session_->parameters().release();
  return {};
}

Bytes ModuleTraining::fast_bytes() const {
  return session_ == nullptr ? 0 : session_->plan().budgets.at(memory::kFastTier);
}

}  // namespace sluice::experiment

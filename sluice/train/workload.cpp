#include "sluice/train/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sluice/train/onnx_workload.hpp"
#include "sluice/train/precision.hpp"

namespace sluice {
namespace {

constexpr std::array kOptimizers{Optimizer::kSgd, Optimizer::kAdam, Optimizer::kAdamW};

ModelOptions with_usual_batch(const std::string& model, ModelOptions shape) {
  const auto entry = std::ranges::find(models(), model, &ModelEntry::name);
  if (shape.batch == 0) shape.batch = entry == models().end() ? 1 : entry->defaults.batch;
  return shape;
}

// What the GPU has no kernels for.
Status check_on_gpu(const WorkloadOptions& options) {
  const auto lacks = [](std::string_view what) {
    return Error{ErrorCode::kUnsupported, fmt::format("the GPU's kernels do not go with {} yet", what)};
  };
  if (options.precision == Precision::kBF16Masters) return lacks("--precision bf16-masters; write bf16");
  if (options.optimizer.clip_norm > 0) return lacks("--clip-norm");
  if (options.optimizer.delayed) return lacks("--delay-updates");
  return {};
}

// bf16 where the processor computes in it.
Status choose_precision(Workload& workload) {
  WorkloadOptions& options = workload.options;
  if (options.backend == "cuda") return check_on_gpu(options);
  if (options.precision != Precision::kF32 && options.backend == kDefaultBackend && !cpu_computes_bf16()) {
    options.precision = Precision::kF32;
    workload.notes.emplace_back("this CPU has neither AVX512_BF16 nor AMX: training in fp32 instead of bf16");
  }
  return {};
}

bool delays(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](const Op& op) { return op.kind == OpKind::kDelayGradient; });
}

EarlierRun undelayed_run(const Workload& workload) {
  WorkloadOptions options = workload.options;
  options.optimizer.delayed = false;
  const Graph graph =
      prepare_training_graph(workload.forward, options.optimizer, options.precision, options.finer_slices);
  return {describe_settings(options), graph.fingerprint()};
}

}  // namespace

Result<ForwardModel> build_forward(const WorkloadOptions& options) {
  if (!options.onnx.empty()) return read_onnx_workload(options);
  SLUICE_ASSIGN(Graph graph, build_model(options.model, with_usual_batch(options.model, options.shape)));
  return ForwardModel{std::move(graph), nullptr, {}};
}

Result<Workload> build_workload(const WorkloadOptions& options) {
  SLUICE_ASSIGN(ForwardModel forward, build_forward(options));
  return build_workload(std::move(forward), options);
}

Result<Workload> build_workload(ForwardModel forward, const WorkloadOptions& options) {
  Workload workload;
  workload.options = options;
  workload.forward = std::move(forward.graph);
  workload.values = std::move(forward.values);
  workload.notes = std::move(forward.notes);
  SLUICE_RETURN_IF_ERROR(choose_precision(workload));
  const Graph logical =
      prepare_training_graph(workload.forward, options.optimizer, workload.options.precision, options.finer_slices);
  if (options.optimizer.delayed && !delays(logical)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("--delay-updates: a step of {} reads parameters again that it has updated", logical.name)};
  }
  workload.logical_fingerprint = logical.fingerprint();
  if (options.optimizer.delayed) workload.undelayed = undelayed_run(workload);
  std::vector<ProcessorKernels> processors{{options.threads, options.backend}};
  processors.insert(processors.end(), options.other_processors.begin(), options.other_processors.end());
  SLUICE_ASSIGN(workload.compiled, compile_for(logical, processors));
  return workload;
}

std::string describe_settings(const WorkloadOptions& options) {
  const OptimizerOptions& each = options.optimizer;
  const bool adam = each.optimizer != Optimizer::kSgd;
  const std::string slices =
      options.finer_slices == 1 ? "" : fmt::format(", {} times finer slices", options.finer_slices);
  const std::string delayed = each.delayed ? ", updates delayed" : "";
  const std::string clipped = each.clip_norm > 0 ? fmt::format(", gradients clipped to norm {}", each.clip_norm) : "";
  return fmt::format("{} momentum {}{}, weight decay {}{}{}, {}{}", to_string(each.optimizer), each.momentum,
                     adam ? fmt::format(", beta2 {}, epsilon {}", each.beta2, each.epsilon) : "", each.weight_decay,
                     delayed, clipped, to_string(options.precision), slices);
}

std::string_view to_string(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return "sgd";
    case Optimizer::kAdam:
      return "adam";
    case Optimizer::kAdamW:
      return "adamw";
  }
  return "";
}

Result<Optimizer> parse_optimizer(std::string_view text) {
  const auto found = std::ranges::find(kOptimizers, text, [](Optimizer each) { return to_string(each); });
  if (found != kOptimizers.end()) return *found;
  return Error{ErrorCode::kBadInput, fmt::format("unknown optimizer '{}'; write sgd, adam or adamw", text)};
}

}  // namespace sluice

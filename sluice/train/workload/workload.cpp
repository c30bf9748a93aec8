#include "sluice/train/workload/workload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/train/workload/onnx_workload.hpp"
#include "sluice/train/workload/precision.hpp"

namespace sluice::train {
namespace {

models::ModelOptions with_usual_batch(const std::string& model, models::ModelOptions shape) {
  const auto entry = std::ranges::find(models::models(), model, &models::ModelEntry::name);
  if (shape.batch == 0) shape.batch = entry == models::models().end() ? 1 : entry->defaults.batch;
  return shape;
}

// What the GPU has no kernels for.
Status check_on_gpu(const WorkloadOptions& options) {
  const auto lacks = [](std::string_view what) {
    return Error{ErrorCode::kUnsupported, fmt::format("the GPU's kernels do not go with {} yet", what)};
  };
  if (options.precision != graph::Precision::kF32 && options.precision != graph::Precision::kBF16) {
    return lacks(fmt::format("--precision {}; write bf16", to_string(options.precision)));
  }
  if (!graph::traits(graph::optimizer_row(options.optimizer.optimizer).kind).gpu) {
    return lacks(fmt::format("--optimizer {}", to_string(options.optimizer.optimizer)));
  }
  if (options.optimizer.clip_norm > 0) return lacks("--clip-norm");
  if (options.optimizer.delayed) return lacks("--delay-updates");
  if (options.optimizer.accumulate > 1) return lacks("--accumulate");
  if (options.optimizer.ranks > 1) return lacks("several ranks");
  return {};
}

// bf16 where the processor computes in it.
Status choose_precision(Workload& workload) {
  WorkloadOptions& options = workload.options;
  if (options.backend == "cuda") return check_on_gpu(options);
  const bool bf16 = options.precision == graph::Precision::kBF16 || options.precision == graph::Precision::kBF16Masters;
  if (bf16 && options.backend == kDefaultBackend && !cpu_computes_bf16()) {
    options.precision = graph::Precision::kF32;
    workload.notes.emplace_back("this CPU has neither AVX512_BF16 nor AMX: training in fp32 instead of bf16");
  }
  return {};
}

bool has(const graph::Graph& graph, graph::OpKind kind) {
  return std::ranges::find(graph.ops(), kind, &graph::Op::kind) != graph.ops().end();
}

// All keep gradients longer than an update that stands before other uses of its parameter could wait.
Status check_updates_waited(const graph::Graph& logical, const WorkloadOptions& options) {
  const graph::OptimizerOptions& optimizer = options.optimizer;
  const auto refuse = [&](std::string_view option) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: a step of {} reads parameters again that it has updated", option, logical.name)};
  };
  if (optimizer.ranks > 1 && !has(logical, graph::OpKind::kReduceScatter)) return refuse("several ranks");
  if (optimizer.accumulate > 1 && !has(logical, graph::OpKind::kAccumulateGradient)) return refuse("--accumulate");
  if (optimizer.delayed && !has(logical, graph::OpKind::kDelayGradient)) return refuse("--delay-updates");
  const bool scaled = options.precision == graph::Precision::kF16Masters;
  if (scaled && !has(logical, graph::OpKind::kLossScale)) return refuse("--precision fp16-masters");
  return {};
}

// How the batches of a step are shared out is not part of what is trained.
std::string fingerprint_for_one_batch(const Workload& workload) {
  graph::OptimizerOptions optimizer = workload.options.optimizer;
  optimizer.accumulate = optimizer.ranks = 1;
  const WorkloadOptions& options = workload.options;
  return graph::prepare_training_graph(workload.forward, optimizer, options.precision, options.finer_slices)
      .fingerprint();
}

EarlierRun undelayed_run(const Workload& workload) {
  Workload undelayed{.options = workload.options, .forward = workload.forward};
  undelayed.options.optimizer.delayed = false;
  return {describe_settings(undelayed.options), fingerprint_for_one_batch(undelayed)};
}

}  // namespace

Result<ForwardModel> build_forward(const WorkloadOptions& options) {
  if (!options.onnx.empty()) return read_onnx_workload(options);
  SLUICE_ASSIGN(graph::Graph graph, models::build_model(options.model, with_usual_batch(options.model, options.shape)));
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
  const graph::Graph logical = graph::prepare_training_graph(workload.forward, options.optimizer,
                                                             workload.options.precision, options.finer_slices);
  SLUICE_RETURN_IF_ERROR(check_updates_waited(logical, workload.options));
  workload.logical_fingerprint =
      graph::batches_a_step(options.optimizer) == 1 ? logical.fingerprint() : fingerprint_for_one_batch(workload);
  if (options.optimizer.delayed) workload.undelayed = undelayed_run(workload);
  std::vector<kernels::ProcessorKernels> processors{{options.threads, options.backend}};
  processors.insert(processors.end(), options.other_processors.begin(), options.other_processors.end());
  SLUICE_ASSIGN(workload.compiled, kernels::compile_for(logical, processors));
  return workload;
}

std::string describe_settings(const WorkloadOptions& options) {
  const graph::OptimizerOptions& each = options.optimizer;
  const std::string slices =
      options.finer_slices == 1 ? "" : fmt::format(", {} times finer slices", options.finer_slices);
  const std::string delayed = each.delayed ? ", updates delayed" : "";
  const std::string clipped = each.clip_norm > 0 ? fmt::format(", gradients clipped to norm {}", each.clip_norm) : "";
  const std::string batches =
      graph::batches_a_step(each) > 1 ? fmt::format(", {} batches a step", graph::batches_a_step(each)) : "";
  const bool scaled = options.precision == graph::Precision::kF16Masters;
  const std::string scale = scaled ? fmt::format(" from loss scale {}", each.loss_scale) : "";
  return fmt::format("{} {}{}{}{}, {}{}{}", to_string(each.optimizer), graph::describe_hyperparameters(each), delayed,
                     clipped, batches, to_string(options.precision), scale, slices);
}

}  // namespace sluice::train

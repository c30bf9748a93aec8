// What is to be trained: a built-in model or an ONNX file with its backward and update ops, compiled into kernels.
//
// WorkloadOptions holds what decides the bits of a run, beside the data, the seed and the learning rates. Errors are
// those of the model table (unknown names come with the nearest known one), of the importer and of the backend.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/processor_kernels.hpp"
#include "sluice/models/model.hpp"
#include "sluice/onnx/import.hpp"

namespace sluice::train {

struct WorkloadOptions {
  std::string model;           // built-in; empty when `onnx` is not
  std::filesystem::path onnx;  // a file
  onnx::OnnxLoss onnx_loss = onnx::OnnxLoss::kAuto;
  // Batch 0: the model's usual, or the file's. Of the other fields, an ONNX file takes only the sequence length.
  models::ModelOptions shape{.batch = 0};
  graph::OptimizerOptions optimizer;
  graph::Precision precision = graph::Precision::kF32;
  int finer_slices = 1;                  // than usual (prepare.hpp)
  int threads = 1;                       // of the main processor
  std::string backend{kDefaultBackend};  // of the main processor
  std::vector<kernels::ProcessorKernels> other_processors = {};
};

// A run that this one may go on from, though it is another.
struct EarlierRun {
  std::string settings;           // describe_settings()
  std::string graph_fingerprint;  // logical
};

struct Workload {
  WorkloadOptions options;
  graph::Graph forward;                              // without backward and update ops
  std::shared_ptr<const graph::GivenValues> values;  // initial ones from a file; dropped once they were used
  // Of the graph before the backend chose layouts; where a step takes several batches, on one rank or on several, of the
  // same with one.
  std::string logical_fingerprint;
  std::optional<EarlierRun> undelayed;  // of a run with delayed updates: the same without
  std::vector<std::string> notes;       // what was done differently than asked, and by the importer
  std::unique_ptr<kernels::CompiledGraph> compiled;
  // By op of the executable graph: what all plans are to choose; empty: its own. A run's bits depend on them.
  std::vector<graph::OpChoice> choices;

  const graph::Graph& graph() const { return compiled->graph(); }  // the executable graph
};

// bf16 on a CPU that cannot compute in it becomes fp32, with a note.
Result<Workload> build_workload(const WorkloadOptions& options);

// The forward graph alone, and what came with it. Cheap for a built-in model.
struct ForwardModel {
  graph::Graph graph;
  std::shared_ptr<const graph::GivenValues> values;
  std::vector<std::string> notes;
};
Result<ForwardModel> build_forward(const WorkloadOptions& options);

// A workload of a forward graph of the caller's own, with the optimizer, precision and threads of `options`.
Result<Workload> build_workload(ForwardModel forward, const WorkloadOptions& options);

// "sgd momentum 0.9, weight decay 0.0001, fp32": what a run's results depend on besides model, data and seed.
std::string describe_settings(const WorkloadOptions& options);

}  // namespace sluice::train

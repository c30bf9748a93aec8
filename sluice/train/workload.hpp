// What is to be trained: a built-in model with its backward and update ops, compiled into kernels.
//
// Everything that the bits of a run depend on besides the data is in WorkloadOptions. Errors are those of the model
// table (unknown names come with the nearest known one) and of the backend.
#pragma once

#include <memory>
#include <string>

#include "sluice/exec/backend.hpp"
#include "sluice/models/model.hpp"

namespace sluice {

struct WorkloadOptions {
  std::string model;
  ModelOptions shape;
  OptimizerOptions sgd;
  int threads = 1;
};

struct Workload {
  WorkloadOptions options;
  std::string logical_fingerprint;   // of the graph before the backend chose layouts
  std::unique_ptr<Backend> backend;  // outlives `compiled`
  std::unique_ptr<CompiledGraph> compiled;

  const Graph& graph() const { return compiled->graph(); }  // the executable graph
};

Result<Workload> build_workload(const WorkloadOptions& options);

}  // namespace sluice

// Kernels for every processor of a machine, each from the backend of that processor.
//
// The main processor's backend lowers the graph: layouts, workspaces, in-place pairs. Processors with the same backend
// get their kernels from it. A processor with another backend takes over single ops, with their operands as they lie.
// Ops that it has no kernel for say so (Op::no_kernel_on), and the verifier refuses a plan that gives it one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/base/processor_id.hpp"
#include "sluice/kernels/backend.hpp"

namespace sluice::kernels {

struct ProcessorKernels {
  int threads = 1;
  std::string backend{kDefaultBackend};
  bool operator==(const ProcessorKernels&) const = default;
};

// By ProcessorId, the main one first. kBadInput for an unknown backend; otherwise the errors of Backend::compile().
Result<std::unique_ptr<CompiledGraph>> compile_for(const graph::Graph& logical,
                                                   const std::vector<ProcessorKernels>& processors);

}  // namespace sluice::kernels

// What a kernel asks of an operand's bytes: which of them, how often, and whether in order.
//
// Kernels of almost all kinds go over their operands once, whole and in order. The others are the cases of
// access_pattern.cpp, each with its reason. A convolution or product comes back to bytes that a core's cache still
// holds; this does not count as a second sweep. Pure functions. Thread-safe.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

struct AccessPattern {
  Bytes touched = 0;           // distinct bytes that the op uses of it
  int sweeps = 1;              // how often it reads them, each time from the first to the last
  std::int64_t scattered = 0;  // places in no order: nobody can fetch them ahead
  bool operator==(const AccessPattern&) const = default;
};

// How often kernels of this kind read each large input.
int read_sweeps(OpKind kind);

// `operand` is an input or an output of `op`.
AccessPattern access_pattern(const Graph& graph, const Op& op, TensorId operand);

}  // namespace sluice::graph

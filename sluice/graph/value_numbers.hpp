// Which values an op reads and writes in the graph's own order, and which ops make what another has made before.
//
// A value is known by the op and output that wrote it first. An op is a function of what it reads (and draws by
// counters, see Repeat in op_traits.hpp). So an op of the same kind and attributes that reads the same values makes the
// same values: it is a *repetition*. A kBatchNormApply repeats the kBatchNorm whose statistics it reads. Training
// graphs are full of them: autodiff/recompute.hpp puts them where making a value again is cheaper than keeping it.
//
//   op                              reads               writes
//   0 conv2d x, w > a               start x, start w    0:0
//   1 unary a > b                   0:0                 1:0
//   2 unary a > b.again             0:0                 1:0     repeats op 1
//
// An op that a plan may give several implementations repeats nothing, nor does one that runs by another kernel or on
// another processor: they may round differently. O(operands).
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

inline constexpr OpIndex kBeforeTheStep = -1;

// `at` is an output of the op; of kBeforeTheStep the tensor that held the value then.
struct ValueNumber {
  OpIndex op = kBeforeTheStep;
  std::size_t at = 0;
  auto operator<=>(const ValueNumber&) const = default;
};

struct ValueNumbers {
  std::vector<std::vector<ValueNumber>> reads;   // by op, as its inputs
  std::vector<std::vector<ValueNumber>> writes;  // by op, as its outputs
  std::vector<std::optional<OpIndex>> repeats;   // by op: the first that makes all that it makes, but for workspaces
  std::vector<ValueNumber> at_end;               // by tensor
};

ValueNumbers number_values(const Graph& graph);

// Whether one may be read instead of the other, the values being equal.
bool lie_alike(const Tensor& a, const Tensor& b);

// By tensor: the one to read instead, of the op that made the value first, where the op that makes it again may be left
// out of a schedule. A tensor that nothing stands for is its own. Both are written once a step, lie alike in memory,
// and are of no use when the step has ended.
std::vector<TensorId> first_tensors(const Graph& graph, const ValueNumbers& values);

// An op that may be left out, and the one that made the same before.
struct Repetition {
  OpIndex op = 0;
  OpIndex of = 0;
};

// In the graph's order. Any of them may be left out, or all.
std::vector<Repetition> repetitions(const Graph& graph);

}  // namespace sluice::graph

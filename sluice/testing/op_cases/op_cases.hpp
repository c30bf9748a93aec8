// Small graphs that between them hold every op kind, forward and backward, and a way to run one and keep every value.
//
// A case is a logical graph whose leaves (tensors read before anything writes them) get seeded values from outside. The
// same case runs on any backend, so backends can be compared value by value, and the gradients it names can be checked
// against differences of its outputs.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "sluice/testing/op_cases/graph_runner.hpp"

namespace sluice::testing {

// Names of tensors: d sum(output * output_gradient) / d input should be input_gradient. An empty output_gradient stands
// for ones.
struct GradientClaim {
  std::string output;
  std::string output_gradient;
  std::string input;
  std::string input_gradient;
};

struct OpCase {
  std::string name;
  graph::Graph graph;
  std::vector<GradientClaim> gradients;
};

std::vector<OpCase> op_cases();
// Those that the GPU has kernels for. It does not clip, delay, accumulate or scatter gradients, keeps no masters, and has
// no fp16, no sparse products, no means as losses, no lookups by computed ids, no Nesterov and no rates of a parameter's own.
std::vector<OpCase> op_cases_of_gpu();
// All others.
std::vector<OpCase> op_cases_not_of_gpu();

// The case with every operand in bf16 that mixed precision would have so.
graph::Graph in_bf16(const graph::Graph& logical);

// How test programs name a case: letters, digits and underscores.
std::string test_name(const OpCase& op_case);
std::ostream& operator<<(std::ostream& out, const OpCase& op_case);

using NamedValues = std::map<std::string, std::vector<float>>;  // row-major, by logical tensor name

// Values away from zero, where ReLU has its kink, spread as Tensor::init says where it is normal; positive where an op
// needs that; integers below Tensor::bound (3 where there is none), hidden tokens with -1 among them.
NamedValues leaf_values(const graph::Graph& logical, std::uint64_t seed);
void set_leaves(GraphRunner& runner, const NamedValues& leaves);

// Sets the leaves, runs the step, and returns every fp32 tensor as it was when its op had just written it.
NamedValues run_case(const graph::Graph& logical, GraphRunner& runner, const NamedValues& leaves,
                     const kernels::StepContext& context);

}  // namespace sluice::testing

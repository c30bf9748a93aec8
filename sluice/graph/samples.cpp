#include "sluice/graph/samples.hpp"

#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

bool is_of_parameter(Role role) { return is_persistent(role) || role == Role::kGradient; }

// Whether the tensor is what the letter of its operand says (op_traits.hpp).
bool fits(char letter, const Tensor& tensor, const Attributes& attributes, std::int64_t batch) {
  switch (letter) {
    case 'n':
      return has_samples(tensor, batch);
    case 'a':
      return axis_of(attributes) > 0 && has_samples(tensor, batch);
    case 'w':
      return is_of_parameter(tensor.role);
    default:  // statistics
      return true;
  }
}

}  // namespace

std::int64_t batch_of(const Graph& graph) { return graph.tensor(graph.op(0).outputs[0]).shape[0]; }

bool has_samples(const Tensor& tensor, std::int64_t batch) {
  return !is_of_parameter(tensor.role) && tensor.shape.size() == 4 && tensor.shape[0] == batch;
}

bool separable(const Graph& graph, const Op& op) {
  const OperandLetters& letters = traits(op.kind).samples;
  if (letters.empty()) return false;
  const std::int64_t batch = batch_of(graph);
  bool all = true;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    all = all && fits(letters.input(i), graph.tensor(op.inputs[i]), op.attributes, batch);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    all = all && fits(letters.output(i), graph.tensor(op.outputs[i]), op.attributes, batch);
  }
  return all;
}

}  // namespace sluice::graph

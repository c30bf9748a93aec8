#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

// `half`: of the gradient and of the parameter beside its master; fp32: there is none. `clipped`: by a factor.
OpCase lion_case(const graph::Shape& shape, graph::DType half, bool clipped, float own_rate) {
  CaseBuilder builder("lion " + std::string(to_string(half)) + (clipped ? " clipped " : " ") +
                      (own_rate > 0 ? "at its own rate " : "") + graph::to_string(shape));
  const bool master = graph::is_half(half);
  const graph::TensorId w =
      master ? builder.tensor("w.master", shape, graph::Role::kOptimizerState) : builder.parameter("w", shape);
  const graph::TensorId momentum = builder.tensor("momentum", shape, graph::Role::kOptimizerState);
  std::vector<graph::TensorId> inputs{w, builder.tensor("dw", shape, graph::Role::kGradient, half), momentum},
      outputs{w, momentum};
  if (clipped) inputs.push_back(builder.tensor("factor", {1}, graph::Role::kActivationGradient));
  if (master) outputs.push_back(builder.tensor("w", shape, graph::Role::kParameter, half));
  graph::UpdateAttributes attributes{.rate = own_rate, .momentum = 0.9, .weight_decay = 0.05};
  attributes.beta2 = 0.99;
  builder.op(graph::OpKind::kLionUpdate, attributes, inputs, outputs);
  return builder.finish();
}

}  // namespace

void add_lion_update_cases(std::vector<OpCase>& cases) {
  cases.push_back(lion_case({7, 33}, graph::DType::kF32, false, 0));
  cases.push_back(lion_case({16, 16, 3, 3}, graph::DType::kF32, true, 0));
  cases.push_back(lion_case({50}, graph::DType::kF32, false, 0.3F));
  for (const graph::DType half : {graph::DType::kBF16, graph::DType::kF16})
    cases.push_back(lion_case({7, 33}, half, true, 0));
}

}  // namespace sluice::testing

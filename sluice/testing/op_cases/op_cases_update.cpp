#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice {
namespace {

OpCase sgd_case(const Shape& shape) {
  CaseBuilder builder("sgd " + to_string(shape));
  builder.update(builder.parameter("w", shape), builder.parameter_gradient("dw", shape));
  return builder.finish();
}

OpCase adam_case(const Shape& shape, bool decoupled) {
  CaseBuilder builder((decoupled ? "adamw " : "adam ") + to_string(shape));
  const TensorId w = builder.parameter("w", shape);
  const TensorId moment1 = builder.tensor("moment1", shape, Role::kOptimizerState);
  const TensorId moment2 = builder.tensor("moment2", shape, Role::kOptimizerState);
  builder.op(OpKind::kAdamUpdate,
             {.epsilon = 1e-8F, .momentum = 0.9F, .weight_decay = 0.05F, .beta2 = 0.999F, .decoupled = decoupled},
             {w, builder.parameter_gradient("dw", shape), moment1, moment2}, {w, moment1, moment2});
  return builder.finish();
}

}  // namespace

void add_update_cases(std::vector<OpCase>& cases) {
  cases.push_back(sgd_case({7, 33}));
  cases.push_back(sgd_case({50}));
  for (const bool decoupled : {false, true}) {
    cases.push_back(adam_case({50}, decoupled));
    cases.push_back(adam_case({7, 33}, decoupled));
    cases.push_back(adam_case({16, 16, 3, 3}, decoupled));
  }
}

}  // namespace sluice

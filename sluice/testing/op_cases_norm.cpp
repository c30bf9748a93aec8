#include "sluice/testing/case_builder.hpp"

namespace sluice {
namespace {

std::string name_of(Activation activation) {
  return activation == Activation::kNone ? "" : activation == Activation::kRelu ? " relu" : " relu6";
}

// Batch norm, made again from the kept statistics (y_again), and its gradient. Outputs reach beyond 6 where the
// activation is cut there.
OpCase batch_norm_case(const Shape& shape, Activation activation) {
  CaseBuilder builder("batch norm " + to_string(shape) + name_of(activation));
  const Attributes attributes{.activation = activation, .epsilon = 1e-5F, .momentum = 0.1F};
  const Shape per_channel{2, shape[1]};
  const TensorId x = builder.tensor("x", shape);
  const TensorId scale_shift = builder.parameter("scale_shift", per_channel);
  if (activation == Activation::kRelu6) builder.scaled(scale_shift, 4);
  const TensorId running = builder.tensor("running", per_channel, Role::kBuffer);
  const TensorId stats = builder.tensor("stats", per_channel);
  builder.op(OpKind::kBatchNorm, attributes, {x, scale_shift, running}, {builder.tensor("y", shape), stats, running});
  builder.op(OpKind::kBatchNormApply, {.activation = activation, .epsilon = 1e-5F}, {x, scale_shift, stats},
             {builder.tensor("y_again", shape)});
  builder.op(OpKind::kBatchNormBackward, attributes, {x, builder.gradient("dy", shape), scale_shift, stats},
             {builder.gradient("dx", shape), builder.parameter_gradient("dscale_shift", per_channel)});
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "scale_shift", "dscale_shift"});
  return builder.finish();
}

// With a residual, the activation's backward op comes before the norm's and its result is the residual's gradient too.
OpCase residual_norm_case(const Shape& shape, Activation activation) {
  CaseBuilder builder("batch norm residual " + to_string(shape) + name_of(activation));
  const Attributes attributes{.activation = activation, .epsilon = 1e-5F, .momentum = 0.1F};
  const Shape per_channel{2, shape[1]};
  const TensorId x = builder.tensor("x", shape);
  const TensorId residual = builder.tensor("residual", shape);
  const TensorId scale_shift = builder.parameter("scale_shift", per_channel);
  const TensorId running = builder.tensor("running", per_channel, Role::kBuffer);
  const TensorId stats = builder.tensor("stats", per_channel);
  const TensorId y = builder.tensor("y", shape);
  builder.op(OpKind::kBatchNorm, attributes, {x, scale_shift, running, residual}, {y, stats, running});
  builder.op(OpKind::kBatchNormApply, {.activation = activation, .epsilon = 1e-5F}, {x, scale_shift, stats, residual},
             {builder.tensor("y_again", shape)});
  TensorId dy = builder.gradient("dy", shape);
  if (activation == Activation::kRelu) {
    const TensorId inner = builder.gradient("dresidual", shape);
    builder.op(OpKind::kReluBackward, {}, {y, dy}, {inner});
    dy = inner;
    builder.claim({"y", "dy", "residual", "dresidual"});
  }
  builder.op(OpKind::kBatchNormBackward, {.epsilon = 1e-5F, .momentum = 0.1F}, {x, dy, scale_shift, stats},
             {builder.gradient("dx", shape), builder.parameter_gradient("dscale_shift", per_channel)});
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "scale_shift", "dscale_shift"});
  return builder.finish();
}

OpCase layer_norm_case(const Shape& shape) {
  CaseBuilder builder("layer norm " + to_string(shape));
  const Attributes attributes{.epsilon = 1e-5F};
  const Shape per_feature{2, shape.back()};
  const TensorId x = builder.tensor("x", shape);
  const TensorId scale_shift = builder.parameter("scale_shift", per_feature);
  const TensorId stats = builder.tensor("stats", {2, element_count(shape) / shape.back()});
  builder.op(OpKind::kLayerNorm, attributes, {x, scale_shift}, {builder.tensor("y", shape), stats});
  builder.op(OpKind::kLayerNormBackward, attributes, {x, builder.gradient("dy", shape), scale_shift, stats},
             {builder.gradient("dx", shape), builder.parameter_gradient("dscale_shift", per_feature)});
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "scale_shift", "dscale_shift"});
  return builder.finish();
}

OpCase response_norm_case(const Shape& shape, float alpha, float beta, float bias) {
  CaseBuilder builder("local response norm " + to_string(shape));
  const Attributes attributes{.alpha = alpha, .beta = beta, .size = 5, .epsilon = bias};
  const TensorId x = builder.tensor("x", shape);
  builder.op(OpKind::kLocalResponseNorm, attributes, {x}, {builder.tensor("y", shape)});
  builder.op(OpKind::kLocalResponseNormBackward, attributes, {x, builder.gradient("dy", shape)},
             {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

}  // namespace

void add_norm_cases(std::vector<OpCase>& cases) {
  for (const Shape& shape : {Shape{4, 16, 5, 5}, Shape{1, 32, 7, 3}, Shape{4, 10, 6, 6}, Shape{4, 24, 3, 5}}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kRelu6})
      cases.push_back(batch_norm_case(shape, activation));
    for (const Activation activation : {Activation::kNone, Activation::kRelu})
      cases.push_back(residual_norm_case(shape, activation));
  }
  for (const Shape& shape : {Shape{2, 5, 64}, Shape{3, 48}, Shape{2, 3, 20}, Shape{1, 7, 3}})
    cases.push_back(layer_norm_case(shape));
  cases.push_back(response_norm_case({2, 16, 4, 4}, 1e-4F, 0.75F, 2));
  cases.push_back(response_norm_case({2, 10, 3, 5}, 0.5F, 0.75F, 1));
}

}  // namespace sluice

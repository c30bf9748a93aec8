#include <limits>

#include "sluice/graph/op_traits.hpp"
#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice {
namespace {

OpCase sgd_case(const Shape& shape) {
  CaseBuilder builder("sgd " + to_string(shape));
  builder.update(builder.parameter("w", shape), builder.parameter_gradient("dw", shape));
  return builder.finish();
}

// With settings that only some parameters have.
OpCase own_rate_case(const Shape& shape, OpKind kind, bool nesterov) {
  CaseBuilder builder(std::string(to_string(kind)) + (nesterov ? " nesterov " : " at its own rate ") +
                      to_string(shape));
  const TensorId w = builder.parameter("w", shape);
  std::vector<TensorId> inputs = {w, builder.parameter_gradient("dw", shape)}, outputs = {w};
  for (std::size_t i = 0; i < moments_of(kind); ++i) {
    inputs.push_back(builder.tensor("moment" + std::to_string(i), shape, Role::kOptimizerState));
    outputs.push_back(inputs.back());
  }
  Attributes attributes{.rate = nesterov ? 0.0F : 0.3F, .epsilon = 1e-8F, .momentum = 0.9F, .weight_decay = 0.05F};
  attributes.beta2 = 0.999;
  attributes.nesterov = nesterov;
  builder.op(kind, attributes, inputs, outputs);
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

// Sums of two gradients, and an update by what comes of them.
OpCase clipped_case(const Shape& shape, float norm) {
  CaseBuilder builder("clipped to " + std::to_string(norm) + " " + to_string(shape));
  const TensorId w = builder.parameter("w", shape);
  const TensorId momentum = builder.tensor("momentum", shape, Role::kOptimizerState);
  const TensorId dw = builder.parameter_gradient("dw", shape);
  std::vector<TensorId> sums;
  for (const TensorId gradient : {dw, builder.parameter_gradient("other", {33})}) {
    const TensorId sum = builder.tensor("sum" + std::to_string(sums.size()), {1}, Role::kActivationGradient);
    builder.op(OpKind::kSquaredSum, {}, {gradient}, {sum});
    sums.push_back(sum);
  }
  const TensorId factor = builder.tensor("factor", {1}, Role::kActivationGradient);
  Attributes clip;
  clip.alpha = norm;
  clip.epsilon = 1e-6F;
  builder.op(OpKind::kClipFactor, clip, sums, {factor});
  builder.op(OpKind::kSgdUpdate, {.momentum = 0.9F, .weight_decay = 0.01F}, {w, dw, momentum, factor}, {w, momentum});
  return builder.finish();
}

// A delayed update, by a gradient that was kept, and another one is kept; of Adam while nothing is: it has no first step then.
OpCase delayed_case(const Shape& shape, bool filled) {
  CaseBuilder builder(std::string(filled ? "delayed " : "waiting ") + to_string(shape));
  const TensorId master = builder.tensor("w.master", shape, Role::kOptimizerState);
  const TensorId kept = builder.tensor("dw.delayed", shape, Role::kOptimizerState, DType::kBF16);
  const TensorId moment1 = builder.tensor("moment1", shape, Role::kOptimizerState);
  const TensorId factor = builder.tensor("factor", {1}, Role::kActivationGradient);
  const TensorId flag =
      builder.scaled(builder.tensor("gradients.filled", {1}, Role::kOptimizerState), filled ? 1.0F : 0.0F);
  const TensorId w = builder.tensor("w", shape, Role::kParameter, DType::kBF16);
  Attributes attributes{.epsilon = 1e-8F, .momentum = 0.9F, .beta2 = 0.999F, .delayed = true};
  if (filled) {
    builder.op(OpKind::kSgdUpdate, attributes, {master, kept, moment1, factor, flag}, {master, moment1, w});
  } else {
    const TensorId moment2 = builder.tensor("moment2", shape, Role::kOptimizerState);
    builder.op(OpKind::kAdamUpdate, attributes, {master, kept, moment1, moment2, factor, flag},
               {master, moment1, moment2, w});
  }
  const TensorId dw = builder.tensor("dw", shape, Role::kGradient, DType::kBF16);
  builder.op(OpKind::kDelayGradient, {}, {dw}, {kept, flag});
  return builder.finish();
}

// A sum of gradients of several batches, in bf16 or fp32, and an update by it.
OpCase accumulated_case(const Shape& shape, DType dtype) {
  CaseBuilder builder("accumulated in " + std::string(to_string(dtype)) + " " + to_string(shape));
  const TensorId w = builder.parameter("w", shape);
  const TensorId momentum = builder.tensor("momentum", shape, Role::kOptimizerState);
  const TensorId sum = builder.tensor("dw.sum", shape, Role::kGradient);
  Attributes mean;
  mean.alpha = 1.0F / 3;
  for (int batch = 0; batch < 3; ++batch) {
    const TensorId dw = builder.tensor("dw" + std::to_string(batch), shape, Role::kGradient, dtype);
    builder.op(OpKind::kAccumulateGradient, mean, batch == 0 ? std::vector{dw} : std::vector{dw, sum}, {sum});
  }
  builder.op(OpKind::kSgdUpdate, {.momentum = 0.9F}, {w, sum, momentum}, {w, momentum});
  return builder.finish();
}

// An update of a part of a parameter, by what ranks have of its gradient; others are like this one.
OpCase parted_case(const Shape& shape, std::int64_t ranks, DType dtype) {
  CaseBuilder builder(std::to_string(ranks) + " ranks" + ", " + std::string(to_string(dtype)) + " " + to_string(shape));
  const Shape part{part_elements(element_count(shape), ranks)};
  const TensorId w = builder.tensor("w", shape, Role::kParameter, dtype);
  const TensorId own = builder.tensor("w.part", part, Role::kGradient, dtype);
  const TensorId dw_part = builder.tensor("dw.part", part, Role::kGradient, dtype);
  Attributes scatter, gather;
  scatter.size = gather.size = ranks;
  scatter.alpha = 1.0F / static_cast<float>(ranks);
  gather.shape = shape;
  builder.op(OpKind::kReduceScatter, scatter, {builder.tensor("dw", shape, Role::kGradient, dtype)}, {dw_part});
  const TensorId momentum = builder.tensor("momentum", part, Role::kOptimizerState);
  if (is_half(dtype)) {
    const TensorId master = builder.tensor("w.master", part, Role::kOptimizerState);
    builder.op(OpKind::kSgdUpdate, {.momentum = 0.9F}, {master, dw_part, momentum}, {master, momentum, own});
  } else {
    builder.op(OpKind::kOwnPart, scatter, {w}, {own});
    builder.op(OpKind::kSgdUpdate, {.momentum = 0.9F}, {own, dw_part, momentum}, {own, momentum});
  }
  builder.op(OpKind::kAllGather, gather, {own}, {w});
  return builder.finish();
}

// The gradient of a loss that is scaled, and an update by what is scaled, whose scale follows. `sum`: of the gradient's
// squares; where it is not finite the update is left out.
OpCase scaled_case(const Shape& shape, float sum, float norm, bool delayed, DType half = DType::kF16) {
  CaseBuilder builder("scaled " + std::string(to_string(half)) + std::string(delayed ? " and delayed" : "") +
                      ", squares " + std::to_string(sum) + (norm > 0 ? ", clipped " : " ") + to_string(shape));
  const auto number = [&](const std::string& name, float value) {
    return builder.constant(builder.tensor(name, {1}, Role::kOptimizerState), value);
  };
  const TensorId scale = number("scale", 1024),
                 counts = builder.constant(builder.tensor("counts", {2}, Role::kOptimizerState), 1);
  const TensorId of_updates = delayed ? number("scale.delayed", 512) : scale;
  const TensorId labels = builder.integers("labels", {5}, 7);
  const TensorId dlogits = builder.gradient("dlogits", {5, 7});
  builder.op(OpKind::kSoftmaxCrossEntropyBackward, {}, {builder.tensor("probabilities", {5, 7}), labels, scale},
             {dlogits});
  const TensorId factor = builder.tensor("factor", {2}, Role::kActivationGradient);
  Attributes clip;
  clip.alpha = norm;
  clip.epsilon = 1e-6F;
  clip.scaled = true;
  builder.op(OpKind::kClipFactor, clip, {number("sum", sum), of_updates, counts}, {factor});
  const TensorId master = builder.tensor("w.master", shape, Role::kOptimizerState);
  const TensorId moment1 = builder.tensor("moment1", shape, Role::kOptimizerState);
  const TensorId moment2 = builder.tensor("moment2", shape, Role::kOptimizerState);
  Attributes adam{.epsilon = 1e-8F, .momentum = 0.9, .beta2 = 0.999};
  adam.scaled = true;
  std::vector<TensorId> updated{master, moment1, moment2};
  if (is_half(half)) updated.push_back(builder.tensor("w", shape, Role::kParameter, half));
  builder.op(OpKind::kAdamUpdate, adam,
             {master, builder.tensor("dw", shape, Role::kGradient, half), moment1, moment2, factor}, updated);
  Attributes follow{.alpha = 2, .beta = 0.5F, .size = 1};
  std::vector<TensorId> state{scale, counts};
  if (delayed) state.push_back(of_updates);
  std::vector<TensorId> inputs{factor};
  inputs.insert(inputs.end(), state.begin(), state.end());
  builder.op(OpKind::kLossScale, follow, inputs, state);
  return builder.finish();
}

// A master and its parameter in 16 bits.
OpCase master_case(const Shape& shape, DType half) {
  CaseBuilder builder(std::string("master of ") + std::string(to_string(half)) + " " + to_string(shape));
  const TensorId master = builder.tensor("w.master", shape, Role::kOptimizerState);
  const TensorId momentum = builder.tensor("momentum", shape, Role::kOptimizerState);
  const TensorId w = builder.tensor("w", shape, Role::kParameter, half);
  builder.op(OpKind::kSgdUpdate, {.momentum = 0.9F}, {master, builder.parameter_gradient("dw", shape), momentum},
             {master, momentum, w});
  return builder.finish();
}

}  // namespace

void add_sgd_update_cases(std::vector<OpCase>& cases) {
  cases.push_back(sgd_case({7, 33}));
  cases.push_back(sgd_case({50}));
  cases.push_back(own_rate_case({7, 33}, OpKind::kSgdUpdate, true));
  cases.push_back(own_rate_case({7, 33}, OpKind::kSgdUpdate, false));
}

void add_adam_update_cases(std::vector<OpCase>& cases) {
  cases.push_back(own_rate_case({7, 33}, OpKind::kAdamUpdate, false));
  for (const bool decoupled : {false, true}) {
    cases.push_back(adam_case({50}, decoupled));
    cases.push_back(adam_case({7, 33}, decoupled));
    cases.push_back(adam_case({16, 16, 3, 3}, decoupled));
  }
}

void add_update_cases(std::vector<OpCase>& cases) {
  for (const float norm : {0.25F, 1000.0F}) cases.push_back(clipped_case({7, 33}, norm));
  for (const bool filled : {false, true}) cases.push_back(delayed_case({7, 33}, filled));
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) cases.push_back(accumulated_case({7, 33}, dtype));
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) cases.push_back(parted_case({7, 33}, 4, dtype));
  for (const DType half : {DType::kBF16, DType::kF16}) cases.push_back(master_case({7, 33}, half));
  for (const bool delayed : {false, true}) cases.push_back(scaled_case({7, 33}, 3e6F, 0.25F, delayed));
  cases.push_back(scaled_case({7, 33}, 3e6F, 0, false));
  cases.push_back(scaled_case({7, 33}, 3e6F, 0.25F, true, DType::kF32));
  cases.push_back(scaled_case({7, 33}, std::numeric_limits<float>::infinity(), 0, false));
#define SLUICE_UPDATE_CASES(kind, name) add_##name##_update_cases(cases);
  SLUICE_UPDATES(SLUICE_UPDATE_CASES)
#undef SLUICE_UPDATE_CASES
}

}  // namespace sluice

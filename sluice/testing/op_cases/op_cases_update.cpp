#include <limits>

#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

OpCase sgd_case(const graph::Shape& shape) {
  CaseBuilder builder("sgd " + graph::to_string(shape));
  builder.update(builder.parameter("w", shape), builder.parameter_gradient("dw", shape));
  return builder.finish();
}

// With settings that only some parameters have.
OpCase own_rate_case(const graph::Shape& shape, graph::OpKind kind, bool nesterov) {
  CaseBuilder builder(std::string(to_string(kind)) + (nesterov ? " nesterov " : " at its own rate ") +
                      graph::to_string(shape));
  const graph::TensorId w = builder.parameter("w", shape);
  std::vector<graph::TensorId> inputs = {w, builder.parameter_gradient("dw", shape)}, outputs = {w};
  for (std::size_t i = 0; i < graph::moments_of(kind); ++i) {
    inputs.push_back(builder.tensor("moment" + std::to_string(i), shape, graph::Role::kOptimizerState));
    outputs.push_back(inputs.back());
  }
  graph::UpdateAttributes attributes{
      .rate = nesterov ? 0.0F : 0.3F, .epsilon = 1e-8F, .momentum = 0.9F, .weight_decay = 0.05F};
  attributes.beta2 = 0.999;
  attributes.nesterov = nesterov;
  builder.op(kind, attributes, inputs, outputs);
  return builder.finish();
}

OpCase adam_case(const graph::Shape& shape, bool decoupled) {
  CaseBuilder builder((decoupled ? "adamw " : "adam ") + graph::to_string(shape));
  const graph::TensorId w = builder.parameter("w", shape);
  const graph::TensorId moment1 = builder.tensor("moment1", shape, graph::Role::kOptimizerState);
  const graph::TensorId moment2 = builder.tensor("moment2", shape, graph::Role::kOptimizerState);
  builder.op(graph::OpKind::kAdamUpdate,
             graph::UpdateAttributes{
                 .epsilon = 1e-8F, .momentum = 0.9F, .weight_decay = 0.05F, .beta2 = 0.999F, .decoupled = decoupled},
             {w, builder.parameter_gradient("dw", shape), moment1, moment2}, {w, moment1, moment2});
  return builder.finish();
}

// Sums of two gradients, and an update by what comes of them.
OpCase clipped_case(const graph::Shape& shape, float norm) {
  CaseBuilder builder("clipped to " + std::to_string(norm) + " " + graph::to_string(shape));
  const graph::TensorId w = builder.parameter("w", shape);
  const graph::TensorId momentum = builder.tensor("momentum", shape, graph::Role::kOptimizerState);
  const graph::TensorId dw = builder.parameter_gradient("dw", shape);
  std::vector<graph::TensorId> sums;
  for (const graph::TensorId gradient : {dw, builder.parameter_gradient("other", {33})}) {
    const graph::TensorId sum =
        builder.tensor("sum" + std::to_string(sums.size()), {1}, graph::Role::kActivationGradient);
    builder.op(graph::OpKind::kSquaredSum, {}, {gradient}, {sum});
    sums.push_back(sum);
  }
  const graph::TensorId factor = builder.tensor("factor", {1}, graph::Role::kActivationGradient);
  graph::ClipAttributes clip;
  clip.norm = norm;
  clip.epsilon = 1e-6F;
  builder.op(graph::OpKind::kClipFactor, clip, sums, {factor});
  builder.op(graph::OpKind::kSgdUpdate, graph::UpdateAttributes{.momentum = 0.9F, .weight_decay = 0.01F},
             {w, dw, momentum, factor}, {w, momentum});
  return builder.finish();
}

// A delayed update, by a gradient that was kept, and another one is kept; of Adam while nothing is: it has no first step then.
OpCase delayed_case(const graph::Shape& shape, bool filled) {
  CaseBuilder builder(std::string(filled ? "delayed " : "waiting ") + graph::to_string(shape));
  const graph::TensorId master = builder.tensor("w.master", shape, graph::Role::kOptimizerState);
  const graph::TensorId kept = builder.tensor("dw.delayed", shape, graph::Role::kOptimizerState, graph::DType::kBF16);
  const graph::TensorId moment1 = builder.tensor("moment1", shape, graph::Role::kOptimizerState);
  const graph::TensorId factor = builder.tensor("factor", {1}, graph::Role::kActivationGradient);
  const graph::TensorId flag =
      builder.scaled(builder.tensor("gradients.filled", {1}, graph::Role::kOptimizerState), filled ? 1.0F : 0.0F);
  const graph::TensorId w = builder.tensor("w", shape, graph::Role::kParameter, graph::DType::kBF16);
  graph::UpdateAttributes attributes{.epsilon = 1e-8F, .momentum = 0.9F, .beta2 = 0.999F, .delayed = true};
  if (filled) {
    builder.op(graph::OpKind::kSgdUpdate, attributes, {master, kept, moment1, factor, flag}, {master, moment1, w});
  } else {
    const graph::TensorId moment2 = builder.tensor("moment2", shape, graph::Role::kOptimizerState);
    builder.op(graph::OpKind::kAdamUpdate, attributes, {master, kept, moment1, moment2, factor, flag},
               {master, moment1, moment2, w});
  }
  const graph::TensorId dw = builder.tensor("dw", shape, graph::Role::kGradient, graph::DType::kBF16);
  builder.op(graph::OpKind::kDelayGradient, {}, {dw}, {kept, flag});
  return builder.finish();
}

// A sum of gradients of several batches, in bf16 or fp32, and an update by it.
OpCase accumulated_case(const graph::Shape& shape, graph::DType dtype) {
  CaseBuilder builder("accumulated in " + std::string(to_string(dtype)) + " " + graph::to_string(shape));
  const graph::TensorId w = builder.parameter("w", shape);
  const graph::TensorId momentum = builder.tensor("momentum", shape, graph::Role::kOptimizerState);
  const graph::TensorId sum = builder.tensor("dw.sum", shape, graph::Role::kGradient);
  graph::FactorAttributes mean;
  mean.factor = 1.0F / 3;
  for (int batch = 0; batch < 3; ++batch) {
    const graph::TensorId dw = builder.tensor("dw" + std::to_string(batch), shape, graph::Role::kGradient, dtype);
    builder.op(graph::OpKind::kAccumulateGradient, mean, batch == 0 ? std::vector{dw} : std::vector{dw, sum}, {sum});
  }
  builder.op(graph::OpKind::kSgdUpdate, graph::UpdateAttributes{.momentum = 0.9F}, {w, sum, momentum}, {w, momentum});
  return builder.finish();
}

// An update of a part of a parameter, by what ranks have of its gradient; others are like this one.
OpCase parted_case(const graph::Shape& shape, std::int64_t ranks, graph::DType dtype) {
  CaseBuilder builder(std::to_string(ranks) + " ranks" + ", " + std::string(to_string(dtype)) + " " +
                      graph::to_string(shape));
  const graph::Shape part{graph::part_elements(graph::element_count(shape), ranks)};
  const graph::TensorId w = builder.tensor("w", shape, graph::Role::kParameter, dtype);
  const graph::TensorId own = builder.tensor("w.part", part, graph::Role::kGradient, dtype);
  const graph::TensorId dw_part = builder.tensor("dw.part", part, graph::Role::kGradient, dtype);
  const graph::RanksAttributes scatter{.ranks = ranks, .factor = 1.0F / static_cast<float>(ranks)};
  const graph::RanksAttributes gather{.ranks = ranks, .shape = shape};
  builder.op(graph::OpKind::kReduceScatter, scatter, {builder.tensor("dw", shape, graph::Role::kGradient, dtype)},
             {dw_part});
  const graph::TensorId momentum = builder.tensor("momentum", part, graph::Role::kOptimizerState);
  if (graph::is_half(dtype)) {
    const graph::TensorId master = builder.tensor("w.master", part, graph::Role::kOptimizerState);
    builder.op(graph::OpKind::kSgdUpdate, graph::UpdateAttributes{.momentum = 0.9F}, {master, dw_part, momentum},
               {master, momentum, own});
  } else {
    builder.op(graph::OpKind::kOwnPart, scatter, {w}, {own});
    builder.op(graph::OpKind::kSgdUpdate, graph::UpdateAttributes{.momentum = 0.9F}, {own, dw_part, momentum},
               {own, momentum});
  }
  builder.op(graph::OpKind::kAllGather, gather, {own}, {w});
  return builder.finish();
}

// The gradient of a loss that is scaled, and an update by what is scaled, whose scale follows. `sum`: of the gradient's
// squares; where it is not finite the update is left out.
OpCase scaled_case(const graph::Shape& shape, float sum, float norm, bool delayed,
                   graph::DType half = graph::DType::kF16) {
  CaseBuilder builder("scaled " + std::string(to_string(half)) + std::string(delayed ? " and delayed" : "") +
                      ", squares " + std::to_string(sum) + (norm > 0 ? ", clipped " : " ") + graph::to_string(shape));
  const auto number = [&](const std::string& name, float value) {
    return builder.constant(builder.tensor(name, {1}, graph::Role::kOptimizerState), value);
  };
  const graph::TensorId scale = number("scale", 1024),
                        counts = builder.constant(builder.tensor("counts", {2}, graph::Role::kOptimizerState), 1);
  const graph::TensorId of_updates = delayed ? number("scale.delayed", 512) : scale;
  const graph::TensorId labels = builder.integers("labels", {5}, 7);
  const graph::TensorId dlogits = builder.gradient("dlogits", {5, 7});
  builder.op(graph::OpKind::kSoftmaxCrossEntropyBackward, {}, {builder.tensor("probabilities", {5, 7}), labels, scale},
             {dlogits});
  const graph::TensorId factor = builder.tensor("factor", {2}, graph::Role::kActivationGradient);
  graph::ClipAttributes clip;
  clip.norm = norm;
  clip.epsilon = 1e-6F;
  clip.scaled = true;
  builder.op(graph::OpKind::kClipFactor, clip, {number("sum", sum), of_updates, counts}, {factor});
  const graph::TensorId master = builder.tensor("w.master", shape, graph::Role::kOptimizerState);
  const graph::TensorId moment1 = builder.tensor("moment1", shape, graph::Role::kOptimizerState);
  const graph::TensorId moment2 = builder.tensor("moment2", shape, graph::Role::kOptimizerState);
  graph::UpdateAttributes adam{.epsilon = 1e-8F, .momentum = 0.9, .beta2 = 0.999};
  adam.scaled = true;
  std::vector<graph::TensorId> updated{master, moment1, moment2};
  if (graph::is_half(half)) updated.push_back(builder.tensor("w", shape, graph::Role::kParameter, half));
  builder.op(graph::OpKind::kAdamUpdate, adam,
             {master, builder.tensor("dw", shape, graph::Role::kGradient, half), moment1, moment2, factor}, updated);
  graph::LossScaleAttributes follow{.growth = 2, .backoff = 0.5F, .steps = 1};
  std::vector<graph::TensorId> state{scale, counts};
  if (delayed) state.push_back(of_updates);
  std::vector<graph::TensorId> inputs{factor};
  inputs.insert(inputs.end(), state.begin(), state.end());
  builder.op(graph::OpKind::kLossScale, follow, inputs, state);
  return builder.finish();
}

// A master and its parameter in 16 bits.
OpCase master_case(const graph::Shape& shape, graph::DType half) {
  CaseBuilder builder(std::string("master of ") + std::string(to_string(half)) + " " + graph::to_string(shape));
  const graph::TensorId master = builder.tensor("w.master", shape, graph::Role::kOptimizerState);
  const graph::TensorId momentum = builder.tensor("momentum", shape, graph::Role::kOptimizerState);
  const graph::TensorId w = builder.tensor("w", shape, graph::Role::kParameter, half);
  builder.op(graph::OpKind::kSgdUpdate, graph::UpdateAttributes{.momentum = 0.9F},
             {master, builder.parameter_gradient("dw", shape), momentum}, {master, momentum, w});
  return builder.finish();
}

}  // namespace

void add_sgd_update_cases(std::vector<OpCase>& cases) {
  cases.push_back(sgd_case({7, 33}));
  cases.push_back(sgd_case({50}));
  cases.push_back(own_rate_case({7, 33}, graph::OpKind::kSgdUpdate, true));
  cases.push_back(own_rate_case({7, 33}, graph::OpKind::kSgdUpdate, false));
}

void add_adam_update_cases(std::vector<OpCase>& cases) {
  cases.push_back(own_rate_case({7, 33}, graph::OpKind::kAdamUpdate, false));
  for (const bool decoupled : {false, true}) {
    cases.push_back(adam_case({50}, decoupled));
    cases.push_back(adam_case({7, 33}, decoupled));
    cases.push_back(adam_case({16, 16, 3, 3}, decoupled));
  }
}

void add_update_cases(std::vector<OpCase>& cases) {
  for (const float norm : {0.25F, 1000.0F}) cases.push_back(clipped_case({7, 33}, norm));
  for (const bool filled : {false, true}) cases.push_back(delayed_case({7, 33}, filled));
  for (const graph::DType dtype : {graph::DType::kF32, graph::DType::kBF16, graph::DType::kF16})
    cases.push_back(accumulated_case({7, 33}, dtype));
  for (const graph::DType dtype : {graph::DType::kF32, graph::DType::kBF16, graph::DType::kF16})
    cases.push_back(parted_case({7, 33}, 4, dtype));
  for (const graph::DType half : {graph::DType::kBF16, graph::DType::kF16}) cases.push_back(master_case({7, 33}, half));
  for (const bool delayed : {false, true}) cases.push_back(scaled_case({7, 33}, 3e6F, 0.25F, delayed));
  cases.push_back(scaled_case({7, 33}, 3e6F, 0, false));
  cases.push_back(scaled_case({7, 33}, 3e6F, 0.25F, true, graph::DType::kF32));
  cases.push_back(scaled_case({7, 33}, std::numeric_limits<float>::infinity(), 0, false));
#define SLUICE_UPDATE_CASES(kind, name) add_##name##_update_cases(cases);
  SLUICE_UPDATES(SLUICE_UPDATE_CASES)
#undef SLUICE_UPDATE_CASES
}

}  // namespace sluice::testing

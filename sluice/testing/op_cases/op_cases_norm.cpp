#include <utility>

#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice {
namespace {

std::string suffix_of(Activation activation) {
  return activation == Activation::kNone ? "" : activation == Activation::kRelu ? " relu" : " relu6";
}

// Batch norm, made again from the kept statistics (y_again), and its gradient. Outputs reach beyond 6 where the
// activation is cut there.
OpCase batch_norm_case(const Shape& shape, Activation activation) {
  CaseBuilder builder("batch norm " + to_string(shape) + suffix_of(activation));
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
  CaseBuilder builder("batch norm residual " + to_string(shape) + suffix_of(activation));
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

// A batch norm of slices of samples: each op sees its slice, the merge one channel's statistics from each.
class NormInParts {
 public:
  NormInParts(const Shape& shape, Activation activation, std::int64_t slices)
      : builder_("batch norm of " + std::to_string(slices) + " slices " + to_string(shape) + suffix_of(activation)),
        shape_(shape),
        part_(shape),
        attributes_{
            .activation = activation, .size = element_count(shape) / shape[1], .epsilon = 1e-5F, .momentum = 0.1F} {
    part_[0] /= slices;
    for (std::int64_t i = 0; i < slices; ++i) suffixes_.push_back(std::to_string(i));
    if (activation == Activation::kRelu6) builder_.scaled(scale_shift_, 4);
  }

  OpCase finish(bool has_residual) && {
    const std::vector<TensorId> x = take("x", builder_.tensor("x", shape_));
    std::vector<TensorId> partial;
    for (std::size_t i = 0; i < x.size(); ++i) {
      partial.push_back(builder_.tensor("stats" + suffixes_[i], per_channel_));
      builder_.op(OpKind::kBatchNormStatistics, {}, {x[i]}, {partial[i]});
    }
    partial.push_back(running_);
    builder_.op(OpKind::kBatchNormMerge, attributes_, partial, {stats_, running_});
    apply(x, has_residual);
    if (!has_residual) differentiate(x);
    return builder_.finish();
  }

 private:
  Attributes samples(std::size_t slice) const {
    const auto begin = static_cast<std::int64_t>(slice) * part_[0];
    return {.out_begin = begin, .out_end = begin + part_[0]};
  }

  std::vector<TensorId> take(const std::string& name, TensorId whole) {
    std::vector<TensorId> parts;
    for (std::size_t i = 0; i < suffixes_.size(); ++i) {
      parts.push_back(builder_.tensor(name + suffixes_[i], part_));
      builder_.op(OpKind::kSliceBatch, samples(i), {whole}, {parts[i]});
    }
    return parts;
  }

  void place(const std::vector<TensorId>& parts, TensorId whole) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Attributes attributes = samples(i);
      attributes.partial = i > 0;
      std::vector<TensorId> inputs{parts[i]};
      if (i > 0) inputs.push_back(whole);
      builder_.op(OpKind::kPlaceBatch, attributes, inputs, {whole});
    }
  }

  void apply(const std::vector<TensorId>& x, bool has_residual) {
    std::vector<TensorId> residual;
    if (has_residual) residual = take("residual", builder_.tensor("residual", shape_));
    std::vector<TensorId> y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(builder_.tensor("y" + suffixes_[i], part_));
      std::vector<TensorId> inputs{x[i], scale_shift_, stats_};
      if (has_residual) inputs.push_back(residual[i]);
      builder_.op(OpKind::kBatchNormApply, attributes_, inputs, {y[i]});
    }
    place(y, builder_.tensor("y", shape_));
  }

  void differentiate(const std::vector<TensorId>& x) {
    const std::vector<TensorId> dy = take("dy", builder_.gradient("dy", shape_));
    std::string total;
    TensorId sum = -1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const TensorId part = builder_.parameter_gradient("sums" + suffixes_[i], per_channel_);
      builder_.op(OpKind::kBatchNormBackwardSums, attributes_, {x[i], dy[i], scale_shift_, stats_}, {part});
      total = "dscale_shift" + suffixes_[i];
      const TensorId before = std::exchange(sum, i == 0 ? part : builder_.parameter_gradient(total, per_channel_));
      if (i > 0) builder_.op(OpKind::kAdd, {}, {before, part}, {sum});
    }
    std::vector<TensorId> dx;
    for (std::size_t i = 0; i < x.size(); ++i) {
      dx.push_back(builder_.gradient("dx" + suffixes_[i], part_));
      builder_.op(OpKind::kBatchNormBackwardApply, attributes_, {x[i], dy[i], scale_shift_, stats_, sum}, {dx[i]});
    }
    place(dx, builder_.gradient("dx", shape_));
    builder_.claim({"y", "dy", "x", "dx"});
    builder_.claim({"y", "dy", "scale_shift", total});
  }

  CaseBuilder builder_;
  Shape shape_, part_;
  Attributes attributes_;
  std::vector<std::string> suffixes_;
  Shape per_channel_{2, shape_[1]};
  TensorId scale_shift_ = builder_.parameter("scale_shift", per_channel_);
  TensorId running_ = builder_.tensor("running", per_channel_, Role::kBuffer);
  TensorId stats_ = builder_.tensor("stats", per_channel_);
};

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
  for (const Shape& shape : {Shape{4, 16, 5, 5}, Shape{6, 32, 7, 3}, Shape{4, 10, 6, 6}}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kRelu6}) {
      cases.push_back(NormInParts(shape, activation, shape[0] == 6 ? 3 : 2).finish(false));
    }
    cases.push_back(NormInParts(shape, Activation::kRelu, 1).finish(true));
  }
  for (const Shape& shape : {Shape{2, 5, 64}, Shape{3, 48}, Shape{2, 3, 20}, Shape{1, 7, 3}})
    cases.push_back(layer_norm_case(shape));
  cases.push_back(response_norm_case({2, 16, 4, 4}, 1e-4F, 0.75F, 2));
  cases.push_back(response_norm_case({2, 10, 3, 5}, 0.5F, 0.75F, 1));
}

}  // namespace sluice

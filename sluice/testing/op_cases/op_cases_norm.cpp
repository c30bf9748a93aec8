#include <utility>

#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

std::string suffix_of(graph::Activation activation) {
  return activation == graph::Activation::kNone ? "" : activation == graph::Activation::kRelu ? " relu" : " relu6";
}

// Batch norm, made again from the kept statistics (y_again), and its gradient. Outputs reach beyond 6 where the
// activation is cut there.
OpCase batch_norm_case(const graph::Shape& shape, graph::Activation activation) {
  CaseBuilder builder("batch norm " + graph::to_string(shape) + suffix_of(activation));
  const graph::NormAttributes attributes{.activation = activation, .epsilon = 1e-5F, .momentum = 0.1F};
  const graph::Shape per_channel{2, shape[1]};
  const graph::TensorId x = builder.tensor("x", shape);
  const graph::TensorId scale_shift = builder.parameter("scale_shift", per_channel);
  if (activation == graph::Activation::kRelu6) builder.scaled(scale_shift, 4);
  const graph::TensorId running = builder.tensor("running", per_channel, graph::Role::kBuffer);
  const graph::TensorId stats = builder.tensor("stats", per_channel);
  builder.op(graph::OpKind::kBatchNorm, attributes, {x, scale_shift, running},
             {builder.tensor("y", shape), stats, running});
  builder.op(graph::OpKind::kBatchNormApply, graph::NormAttributes{.activation = activation, .epsilon = 1e-5F},
             {x, scale_shift, stats}, {builder.tensor("y_again", shape)});
  builder.op(graph::OpKind::kBatchNormBackward, attributes, {x, builder.gradient("dy", shape), scale_shift, stats},
             {builder.gradient("dx", shape), builder.parameter_gradient("dscale_shift", per_channel)});
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "scale_shift", "dscale_shift"});
  return builder.finish();
}

// With a residual, the activation's backward op comes before the norm's and its result is the residual's gradient too.
OpCase residual_norm_case(const graph::Shape& shape, graph::Activation activation) {
  CaseBuilder builder("batch norm residual " + graph::to_string(shape) + suffix_of(activation));
  const graph::NormAttributes attributes{.activation = activation, .epsilon = 1e-5F, .momentum = 0.1F};
  const graph::Shape per_channel{2, shape[1]};
  const graph::TensorId x = builder.tensor("x", shape);
  const graph::TensorId residual = builder.tensor("residual", shape);
  const graph::TensorId scale_shift = builder.parameter("scale_shift", per_channel);
  const graph::TensorId running = builder.tensor("running", per_channel, graph::Role::kBuffer);
  const graph::TensorId stats = builder.tensor("stats", per_channel);
  const graph::TensorId y = builder.tensor("y", shape);
  builder.op(graph::OpKind::kBatchNorm, attributes, {x, scale_shift, running, residual}, {y, stats, running});
  builder.op(graph::OpKind::kBatchNormApply, graph::NormAttributes{.activation = activation, .epsilon = 1e-5F},
             {x, scale_shift, stats, residual}, {builder.tensor("y_again", shape)});
  graph::TensorId dy = builder.gradient("dy", shape);
  if (activation == graph::Activation::kRelu) {
    const graph::TensorId inner = builder.gradient("dresidual", shape);
    builder.op(graph::OpKind::kReluBackward, {}, {y, dy}, {inner});
    dy = inner;
    builder.claim({"y", "dy", "residual", "dresidual"});
  }
  builder.op(graph::OpKind::kBatchNormBackward, graph::NormAttributes{.epsilon = 1e-5F, .momentum = 0.1F},
             {x, dy, scale_shift, stats},
             {builder.gradient("dx", shape), builder.parameter_gradient("dscale_shift", per_channel)});
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "scale_shift", "dscale_shift"});
  return builder.finish();
}

// A batch norm of slices of samples: each op sees its slice, the merge one channel's statistics from each.
class NormInParts {
 public:
  NormInParts(const graph::Shape& shape, graph::Activation activation, std::int64_t slices)
      : builder_("batch norm of " + std::to_string(slices) + " slices " + graph::to_string(shape) +
                 suffix_of(activation)),
        shape_(shape),
        part_(shape),
        attributes_{.activation = activation,
                    .channel_elements = graph::element_count(shape) / shape[1],
                    .epsilon = 1e-5F,
                    .momentum = 0.1F} {
    part_[0] /= slices;
    for (std::int64_t i = 0; i < slices; ++i) suffixes_.push_back(std::to_string(i));
    if (activation == graph::Activation::kRelu6) builder_.scaled(scale_shift_, 4);
  }

  OpCase finish(bool has_residual) && {
    const std::vector<graph::TensorId> x = take("x", builder_.tensor("x", shape_));
    std::vector<graph::TensorId> partial;
    for (std::size_t i = 0; i < x.size(); ++i) {
      partial.push_back(builder_.tensor("stats" + suffixes_[i], per_channel_));
      builder_.op(graph::OpKind::kBatchNormStatistics, {}, {x[i]}, {partial[i]});
    }
    partial.push_back(running_);
    builder_.op(graph::OpKind::kBatchNormMerge, attributes_, partial, {stats_, running_});
    apply(x, has_residual);
    if (!has_residual) differentiate(x);
    return builder_.finish();
  }

 private:
  graph::Slice samples(std::size_t slice) const {
    const auto begin = static_cast<std::int64_t>(slice) * part_[0];
    return {.begin = begin, .end = begin + part_[0]};
  }

  std::vector<graph::TensorId> take(const std::string& name, graph::TensorId whole) {
    std::vector<graph::TensorId> parts;
    for (std::size_t i = 0; i < suffixes_.size(); ++i) {
      parts.push_back(builder_.tensor(name + suffixes_[i], part_));
      builder_.op_of_slice(graph::OpKind::kSliceBatch, samples(i), {whole}, {parts[i]});
    }
    return parts;
  }

  void place(const std::vector<graph::TensorId>& parts, graph::TensorId whole) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      graph::Slice share = samples(i);
      share.partial = i > 0;
      std::vector<graph::TensorId> inputs{parts[i]};
      if (i > 0) inputs.push_back(whole);
      builder_.op_of_slice(graph::OpKind::kPlaceBatch, share, inputs, {whole});
    }
  }

  void apply(const std::vector<graph::TensorId>& x, bool has_residual) {
    std::vector<graph::TensorId> residual;
    if (has_residual) residual = take("residual", builder_.tensor("residual", shape_));
    std::vector<graph::TensorId> y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(builder_.tensor("y" + suffixes_[i], part_));
      std::vector<graph::TensorId> inputs{x[i], scale_shift_, stats_};
      if (has_residual) inputs.push_back(residual[i]);
      builder_.op(graph::OpKind::kBatchNormApply, attributes_, inputs, {y[i]});
    }
    place(y, builder_.tensor("y", shape_));
  }

  void differentiate(const std::vector<graph::TensorId>& x) {
    const std::vector<graph::TensorId> dy = take("dy", builder_.gradient("dy", shape_));
    std::string total;
    graph::TensorId sum = -1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const graph::TensorId part = builder_.parameter_gradient("sums" + suffixes_[i], per_channel_);
      builder_.op(graph::OpKind::kBatchNormBackwardSums, attributes_, {x[i], dy[i], scale_shift_, stats_}, {part});
      total = "dscale_shift" + suffixes_[i];
      const graph::TensorId before =
          std::exchange(sum, i == 0 ? part : builder_.parameter_gradient(total, per_channel_));
      if (i > 0) builder_.op(graph::OpKind::kAdd, {}, {before, part}, {sum});
    }
    std::vector<graph::TensorId> dx;
    for (std::size_t i = 0; i < x.size(); ++i) {
      dx.push_back(builder_.gradient("dx" + suffixes_[i], part_));
      builder_.op(graph::OpKind::kBatchNormBackwardApply, attributes_, {x[i], dy[i], scale_shift_, stats_, sum},
                  {dx[i]});
    }
    place(dx, builder_.gradient("dx", shape_));
    builder_.claim({"y", "dy", "x", "dx"});
    builder_.claim({"y", "dy", "scale_shift", total});
  }

  CaseBuilder builder_;
  graph::Shape shape_, part_;
  graph::NormAttributes attributes_;
  std::vector<std::string> suffixes_;
  graph::Shape per_channel_{2, shape_[1]};
  graph::TensorId scale_shift_ = builder_.parameter("scale_shift", per_channel_);
  graph::TensorId running_ = builder_.tensor("running", per_channel_, graph::Role::kBuffer);
  graph::TensorId stats_ = builder_.tensor("stats", per_channel_);
};

OpCase layer_norm_case(const graph::Shape& shape) {
  CaseBuilder builder("layer norm " + graph::to_string(shape));
  const graph::NormAttributes attributes{.epsilon = 1e-5F};
  const graph::Shape per_feature{2, shape.back()};
  const graph::TensorId x = builder.tensor("x", shape);
  const graph::TensorId scale_shift = builder.parameter("scale_shift", per_feature);
  const graph::TensorId stats = builder.tensor("stats", {2, graph::element_count(shape) / shape.back()});
  builder.op(graph::OpKind::kLayerNorm, attributes, {x, scale_shift}, {builder.tensor("y", shape), stats});
  builder.op(graph::OpKind::kLayerNormBackward, attributes, {x, builder.gradient("dy", shape), scale_shift, stats},
             {builder.gradient("dx", shape), builder.parameter_gradient("dscale_shift", per_feature)});
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "scale_shift", "dscale_shift"});
  return builder.finish();
}

OpCase response_norm_case(const graph::Shape& shape, float alpha, float beta, float bias) {
  CaseBuilder builder("local response norm " + graph::to_string(shape));
  const graph::ResponseNormAttributes attributes{.channels = 5, .alpha = alpha, .beta = beta, .bias = bias};
  const graph::TensorId x = builder.tensor("x", shape);
  builder.op(graph::OpKind::kLocalResponseNorm, attributes, {x}, {builder.tensor("y", shape)});
  builder.op(graph::OpKind::kLocalResponseNormBackward, attributes, {x, builder.gradient("dy", shape)},
             {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

}  // namespace

void add_norm_cases(std::vector<OpCase>& cases) {
  for (const graph::Shape& shape :
       {graph::Shape{4, 16, 5, 5}, graph::Shape{1, 32, 7, 3}, graph::Shape{4, 10, 6, 6}, graph::Shape{4, 24, 3, 5}}) {
    for (const graph::Activation activation :
         {graph::Activation::kNone, graph::Activation::kRelu, graph::Activation::kRelu6})
      cases.push_back(batch_norm_case(shape, activation));
    for (const graph::Activation activation : {graph::Activation::kNone, graph::Activation::kRelu})
      cases.push_back(residual_norm_case(shape, activation));
  }
  for (const graph::Shape& shape : {graph::Shape{4, 16, 5, 5}, graph::Shape{6, 32, 7, 3}, graph::Shape{4, 10, 6, 6}}) {
    for (const graph::Activation activation :
         {graph::Activation::kNone, graph::Activation::kRelu, graph::Activation::kRelu6}) {
      cases.push_back(NormInParts(shape, activation, shape[0] == 6 ? 3 : 2).finish(false));
    }
    cases.push_back(NormInParts(shape, graph::Activation::kRelu, 1).finish(true));
  }
  for (const graph::Shape& shape :
       {graph::Shape{2, 5, 64}, graph::Shape{3, 48}, graph::Shape{2, 3, 20}, graph::Shape{1, 7, 3}})
    cases.push_back(layer_norm_case(shape));
  cases.push_back(response_norm_case({2, 16, 4, 4}, 1e-4F, 0.75F, 2));
  cases.push_back(response_norm_case({2, 10, 3, 5}, 0.5F, 0.75F, 1));
}

}  // namespace sluice::testing

// The methods of GraphBuilder that make parameters, and the losses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sluice/graph/builder/builder.hpp"

namespace sluice::graph {
namespace {

constexpr TensorId kNoInput = -1;
constexpr float kRunningMomentum = 0.1F;

ConvolutionAttributes convolution_attributes(const Conv2dOptions& options) {
  ConvolutionAttributes attributes;
  Window& window = attributes.window = square_window(options.kernel, options.stride, options.padding);
  if (options.kernel_w > 0) window.kernel_w = options.kernel_w;
  if (options.padding_w >= 0) window.pad_left = window.pad_right = options.padding_w;
  attributes.groups = options.groups;
  attributes.activation = options.activation;
  return attributes;
}

Init init_of(Init::Kind kind, float stddev = 0) {
  Init init;
  init.kind = kind;
  init.stddev = stddev;
  return init;
}

// Rows of a dense op that chooses its weights itself: an image is one row, a sequence has one row a token.
std::int64_t row_features(const Shape& x) {
  if (x.empty()) return 0;
  return x.size() == 4 ? element_count(x) / x.front() : x.back();
}

}  // namespace

TensorId GraphBuilder::input(std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width,
                             std::int64_t classes) {
  return inputs({{"images", Content::kImages, {batch, channels, height, width}, 0},
                 {"labels", Content::kLabels, {batch}, classes}})
      .front();
}

TensorId GraphBuilder::conv2d(TensorId x, const Conv2dOptions& options) {
  if (!usable({x})) return kNoInput;
  const ConvolutionAttributes attributes = convolution_attributes(options);
  const Shape& shape = graph_.tensor(x).shape;
  const std::int64_t channels = shape.size() == 4 ? shape[1] : 0;
  const auto [kernel_h, kernel_w] = std::pair(attributes.window.kernel_h, attributes.window.kernel_w);
  const std::int64_t per_group = channels / std::max<std::int64_t>(options.groups, 1);
  const Shape weight = {options.out_channels, per_group, kernel_h, kernel_w};
  std::vector<TensorId> inputs = {x, add_weight("weight", weight, per_group * kernel_h * kernel_w)};
  if (options.bias) inputs.push_back(add_parameter("bias", {options.out_channels}, {}));
  return add_op(OpKind::kConv2d, attributes, std::move(inputs));
}

// An output pixel sees about kernel / stride pixels of the input along each side.
TensorId GraphBuilder::conv_transpose2d(TensorId x, const Conv2dOptions& options) {
  if (!usable({x})) return kNoInput;
  const ConvolutionAttributes attributes = convolution_attributes(options);
  const Shape& shape = graph_.tensor(x).shape;
  const std::int64_t channels = shape.size() == 4 ? shape[1] : 0;
  const std::int64_t groups = std::max<std::int64_t>(options.groups, 1);
  const auto [kernel_h, kernel_w] = std::pair(attributes.window.kernel_h, attributes.window.kernel_w);
  const std::int64_t stride = std::max<std::int64_t>(options.stride, 1);
  const std::int64_t fan_in = std::max<std::int64_t>(channels / groups * kernel_h * kernel_w / (stride * stride), 1);
  const Shape weight = {channels, options.out_channels / groups, kernel_h, kernel_w};
  std::vector<TensorId> inputs = {x, add_weight("weight", weight, fan_in)};
  if (options.bias) inputs.push_back(add_parameter("bias", {options.out_channels}, {}));
  return add_op(OpKind::kConvTranspose2d, attributes, std::move(inputs));
}

TensorId GraphBuilder::batch_norm(TensorId x, Activation activation, float epsilon) {
  if (!usable({x})) return kNoInput;
  const Shape& shape = graph_.tensor(x).shape;
  const Shape per_channel = {2, shape.size() == 4 ? shape[1] : 0};
  NormAttributes attributes;
  attributes.activation = activation;
  attributes.epsilon = epsilon;
  attributes.momentum = kRunningMomentum;
  const TensorId running = add_parameter("bn.running", per_channel, init_of(Init::Kind::kRunningStats), Role::kBuffer);
  const TensorId scale_shift = add_parameter("bn.scale_shift", per_channel, init_of(Init::Kind::kScaleShift));
  return add_op(OpKind::kBatchNorm, attributes, {x, scale_shift, running});
}

TensorId GraphBuilder::layer_norm(TensorId x, float epsilon) {
  if (!usable({x})) return kNoInput;
  const Shape& shape = graph_.tensor(x).shape;
  NormAttributes attributes;
  attributes.epsilon = epsilon;
  const TensorId scale_shift =
      add_parameter("ln.scale_shift", {2, shape.empty() ? 0 : shape.back()}, init_of(Init::Kind::kScaleShift));
  return add_op(OpKind::kLayerNorm, attributes, {x, scale_shift});
}

TensorId GraphBuilder::dense(TensorId x, std::int64_t out_features, bool bias) {
  if (!usable({x})) return kNoInput;
  const std::int64_t in_features = row_features(graph_.tensor(x).shape);
  std::vector<TensorId> inputs = {x, add_weight("weight", {out_features, in_features}, in_features)};
  if (bias) inputs.push_back(add_parameter("bias", {out_features}, {}));
  return add_op(OpKind::kDense, {}, std::move(inputs));
}

TensorId GraphBuilder::dense_with(TensorId x, TensorId weight) {
  return usable({x, weight}) ? add_op(OpKind::kDense, {}, {x, weight}) : kNoInput;
}

TensorId GraphBuilder::embedding(TensorId ids, std::int64_t vocabulary, std::int64_t features) {
  if (!usable({ids})) return kNoInput;
  return add_op(OpKind::kEmbedding, {}, {ids, add_weight("weight", {vocabulary, features}, features)});
}

TensorId GraphBuilder::embedding_with(TensorId ids, TensorId weight) {
  return usable({ids, weight}) ? add_op(OpKind::kEmbedding, {}, {ids, weight}) : kNoInput;
}

LstmState GraphBuilder::lstm_cell(TensorId gates, const LstmState& earlier, TensorId weight) {
  if (!usable({gates})) return {};
  RecurrentAttributes attributes;
  attributes.state = earlier.h != kNoInput;
  std::vector<TensorId> inputs = {gates};
  if (attributes.state) inputs.insert(inputs.end(), {earlier.h, earlier.c, weight});
  const TensorId h = add_op(OpKind::kLstmCell, attributes, std::move(inputs));
  if (h == kNoInput) return {};
  return {h, graph_.op(graph_.op_count() - 1).outputs[1]};
}

TensorId GraphBuilder::lstm(TensorId x, std::int64_t hidden) {
  if (!usable({x})) return kNoInput;
  const Shape shape = graph_.tensor(x).shape;
  if (shape.size() != 3 || hidden < 1) {
    fail(fmt::format("lstm: expects an input [T, B, features] and hidden features, got {} and {}", to_string(shape),
                     hidden));
    return kNoInput;
  }
  const auto [steps, batch] = std::pair(shape[0], shape[1]);
  const Init init = init_of(Init::Kind::kUniform, 1 / std::sqrt(static_cast<float>(hidden)));
  const TensorId weight = add_parameter("weight_ih", {4 * hidden, shape[2]}, init);
  const TensorId recurrent = add_parameter("weight_hh", {4 * hidden, hidden}, init);
  const TensorId bias = add_parameter("bias", {4 * hidden}, init);
  const TensorId gates = add_op(OpKind::kDense, {}, {x, weight, bias});
  const std::string layer = graph_.layers.back();
  LstmState state;
  std::vector<TensorId> outputs;
  for (std::int64_t t = 0; t < steps && !error_; ++t) {
    begin_layer(distinct(fmt::format("{}.t{}", layer, t)));
    state = lstm_cell(reshape(slice(gates, 0, t, t + 1), {batch, 4 * hidden}), state, recurrent);
    outputs.push_back(reshape(state.h, {1, batch, hidden}));
  }
  return error_ ? kNoInput : concat(outputs, 0);
}

TensorId GraphBuilder::softmax_cross_entropy(TensorId logits) {
  if (!usable({logits})) return kNoInput;
  if (!labels_) {
    fail("softmax_cross_entropy: expects an input op with labels before it");
    return kNoInput;
  }
  return softmax_cross_entropy(logits, *labels_);
}

TensorId GraphBuilder::softmax_cross_entropy(TensorId logits, TensorId labels) {
  return usable({logits, labels}) ? add_op(OpKind::kSoftmaxCrossEntropy, {}, {logits, labels}) : kNoInput;
}

TensorId GraphBuilder::sigmoid_cross_entropy(TensorId logits, float target) {
  if (!usable({logits})) return kNoInput;
  TargetAttributes attributes;
  attributes.target = target;
  return add_op(OpKind::kSigmoidCrossEntropy, attributes, {logits});
}

TensorId GraphBuilder::mean_loss(TensorId x) { return usable({x}) ? add_op(OpKind::kMeanLoss, {}, {x}) : kNoInput; }

}  // namespace sluice::graph

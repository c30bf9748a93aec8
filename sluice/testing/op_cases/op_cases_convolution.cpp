#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

struct ConvolutionShape {
  std::string what;
  graph::Shape x;
  std::int64_t out;
  graph::Window window;
  std::int64_t groups = 1;
  bool bias = false;
  graph::Activation activation = graph::Activation::kNone;
};

std::int64_t coarse_extent(std::int64_t fine, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                           std::int64_t padding) {
  return (fine + padding - dilation * (kernel - 1) - 1) / stride + 1;
}

std::int64_t fine_extent(std::int64_t coarse, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                         std::int64_t padding) {
  return (coarse - 1) * stride + dilation * (kernel - 1) + 1 - padding;
}

graph::Shape output_shape(const ConvolutionShape& s, bool transposed) {
  const auto extent = transposed ? fine_extent : coarse_extent;
  const graph::Window& w = s.window;
  return {s.x[0], s.out, extent(s.x[2], w.kernel_h, w.stride_h, w.dilation_h, w.pad_top + w.pad_bottom),
          extent(s.x[3], w.kernel_w, w.stride_w, w.dilation_w, w.pad_left + w.pad_right)};
}

graph::Shape weight_shape(const ConvolutionShape& s, bool transposed) {
  const std::int64_t first = transposed ? s.x[1] : s.out;
  const std::int64_t second = transposed ? s.out : s.x[1];
  return {first, second / s.groups, s.window.kernel_h, s.window.kernel_w};
}

// With a fused activation, its backward op comes before the convolution's, as autodiff puts it.
graph::TensorId through_activation(CaseBuilder& builder, graph::Activation activation, graph::TensorId y,
                                   graph::TensorId dy) {
  if (activation == graph::Activation::kNone) return dy;
  const graph::TensorId inner = builder.gradient("dy_inner", builder.shape(y));
  if (activation == graph::Activation::kRelu) {
    builder.op(graph::OpKind::kReluBackward, {}, {y, dy}, {inner});
  } else {
    builder.op(graph::OpKind::kUnaryBackward,
               graph::UnaryAttributes{.function = graph::UnaryFunction::kClip, .alpha = 0, .beta = 6}, {y, dy},
               {inner});
  }
  return inner;
}

OpCase convolution_case(const ConvolutionShape& s, bool transposed) {
  CaseBuilder builder((transposed ? "transposed convolution " : "convolution ") + s.what);
  graph::ConvolutionAttributes backward{.window = s.window, .groups = s.groups};
  graph::ConvolutionAttributes forward = backward;
  forward.activation = s.activation;
  const graph::Shape y_shape = output_shape(s, transposed);
  const graph::Shape w_shape = weight_shape(s, transposed);
  const graph::TensorId x = builder.tensor("x", s.x);
  const graph::TensorId w = builder.parameter("w", w_shape);
  std::vector<graph::TensorId> inputs{x, w};
  if (s.bias) inputs.push_back(builder.parameter("bias", {s.out}));
  const graph::TensorId y = builder.tensor("y", y_shape);
  builder.op(transposed ? graph::OpKind::kConvTranspose2d : graph::OpKind::kConv2d, forward, inputs, {y});
  const graph::TensorId dy = through_activation(builder, s.activation, y, builder.gradient("dy", y_shape));
  builder.op(transposed ? graph::OpKind::kConvTranspose2dBackwardData : graph::OpKind::kConv2dBackwardData, backward,
             {dy, w}, {builder.gradient("dx", s.x)});
  std::vector<graph::TensorId> gradients{builder.parameter_gradient("dw", w_shape)};
  if (s.bias) gradients.push_back(builder.parameter_gradient("dbias", {s.out}));
  builder.op(transposed ? graph::OpKind::kConvTranspose2dBackwardWeights : graph::OpKind::kConv2dBackwardWeights,
             backward, {x, dy}, gradients);
  builder.update(w, gradients[0]);
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "w", "dw"});
  if (s.bias) builder.claim({"y", "dy", "bias", "dbias"});
  return builder.finish();
}

const graph::Window kSeven{.kernel_h = 1, .kernel_w = 7, .pad_left = 3, .pad_right = 3};
const graph::Window kSevenDown{.kernel_h = 7, .kernel_w = 1, .pad_top = 3, .pad_bottom = 3};
const graph::Window kDilated{.kernel_h = 3,
                             .kernel_w = 3,
                             .dilation_h = 2,
                             .dilation_w = 2,
                             .pad_top = 2,
                             .pad_left = 2,
                             .pad_bottom = 2,
                             .pad_right = 2};
const graph::Window kUneven{.kernel_h = 4, .kernel_w = 2, .stride_h = 2, .stride_w = 1, .pad_top = 2, .pad_bottom = 1};

const std::vector<ConvolutionShape> kConvolutions = {
    {"3 to 16 k3 bias", {1, 3, 9, 9}, 16, graph::square_window(3, 1, 1), 1, true},
    {"3 to 10 k7 s2", {4, 3, 14, 14}, 10, graph::square_window(7, 2, 3)},
    {"10 to 24 k3", {4, 10, 6, 6}, 24, graph::square_window(3, 1, 1)},
    {"16 to 32 k1", {1, 16, 8, 8}, 32, graph::square_window(1)},
    {"32 to 16 k1 s2 bias", {4, 32, 7, 7}, 16, graph::square_window(1, 2), 1, true},
    {"16 to 16 k3 s2", {4, 16, 8, 8}, 16, graph::square_window(3, 2, 1)},
    {"24 to 10 k3 unpadded bias", {1, 24, 5, 5}, 10, graph::square_window(3), 1, true},
    {"16 to 48 k3 bias", {4, 16, 6, 6}, 48, graph::square_window(3, 1, 1), 1, true},
    {"16 to 16 k3 bias relu", {4, 16, 6, 6}, 16, graph::square_window(3, 1, 1), 1, true, graph::Activation::kRelu},
    {"3 to 16 k3 s2 bias relu", {2, 3, 11, 11}, 16, graph::square_window(3, 2), 1, true, graph::Activation::kRelu},
    {"3 to 16 k7 s2 bias relu", {2, 3, 14, 14}, 16, graph::square_window(7, 2, 3), 1, true, graph::Activation::kRelu},
    {"32 to 16 k1 bias relu", {2, 32, 6, 6}, 16, graph::square_window(1), 1, true, graph::Activation::kRelu},
    {"16 to 32 k1 s2", {2, 16, 7, 7}, 32, graph::square_window(1, 2)},
    {"16 to 10 k1 relu6", {2, 16, 5, 5}, 10, graph::square_window(1), 1, false, graph::Activation::kRelu6},
    {"16 to 32 k1x7", {2, 16, 5, 9}, 32, kSeven},
    {"20 to 16 k7x1", {2, 20, 9, 5}, 16, kSevenDown},
    {"16 to 16 dilated", {2, 16, 9, 9}, 16, kDilated},
    {"16 to 24 padded behind only", {2, 16, 8, 8}, 24, kBehindOnly},
    {"16 to 16 uneven window", {2, 16, 9, 7}, 16, kUneven},
    {"32 in 2 groups", {2, 32, 6, 6}, 64, graph::square_window(3, 1, 1), 2, true},
    {"12 in 3 groups", {2, 12, 5, 5}, 18, graph::square_window(3, 2, 1), 3},
    {"depthwise 32", {2, 32, 7, 7}, 32, graph::square_window(3, 1, 1), 32},
    {"depthwise 16 s2", {2, 16, 7, 7}, 16, graph::square_window(3, 2, 1), 16},
    {"depthwise 24 s2 relu6", {2, 24, 7, 7}, 24, graph::square_window(3, 2, 1), 24, false, graph::Activation::kRelu6},
    {"depthwise 10 k5 bias", {2, 10, 6, 6}, 10, graph::square_window(5, 1, 2), 10, true},
    {"depthwise 8 to 16", {2, 8, 5, 5}, 16, graph::square_window(3, 1, 1), 8},
};

const std::vector<ConvolutionShape> kTransposed = {
    {"100 to 32 k4 from 1x1", {4, 100, 1, 1}, 32, graph::square_window(4)},
    {"32 to 16 k4 s2", {2, 32, 4, 4}, 16, graph::square_window(4, 2, 1)},
    {"16 to 3 k4 s2 bias", {2, 16, 5, 5}, 3, graph::square_window(4, 2, 1), 1, true},
    {"16 to 16 k3 s2 relu", {2, 16, 4, 4}, 16, graph::square_window(3, 2, 1), 1, true, graph::Activation::kRelu},
    {"10 to 12 k3 uneven", {2, 10, 4, 3}, 12, kBehindOnly},
    {"16 to 32 in 2 groups", {2, 16, 4, 4}, 32, graph::square_window(4, 2, 1), 2},
    {"16 dilated", {2, 16, 5, 5}, 16, kDilated},
};

}  // namespace

void add_convolution_cases(std::vector<OpCase>& cases) {
  for (const ConvolutionShape& shape : kConvolutions) cases.push_back(convolution_case(shape, false));
  for (const ConvolutionShape& shape : kTransposed) cases.push_back(convolution_case(shape, true));
}

}  // namespace sluice::testing

#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

struct PoolShape {
  std::string what;
  graph::Shape x;
  graph::Window window;
  bool count_padding = true;
};

std::int64_t pooled(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                    std::int64_t padding) {
  return (extent + padding - dilation * (kernel - 1) - 1) / stride + 1;
}

OpCase pool_case(const PoolShape& s, bool max) {
  CaseBuilder builder((max ? "max pool " : "average pool ") + s.what + " of " + graph::to_string(s.x) +
                      (max || s.count_padding ? "" : " without padding"));
  graph::PoolAttributes attributes{.window = s.window};
  attributes.count_padding = !max && s.count_padding;
  const graph::Window& w = s.window;
  const graph::Shape y_shape{s.x[0], s.x[1],
                             pooled(s.x[2], w.kernel_h, w.stride_h, w.dilation_h, w.pad_top + w.pad_bottom),
                             pooled(s.x[3], w.kernel_w, w.stride_w, w.dilation_w, w.pad_left + w.pad_right)};
  const graph::TensorId x = builder.tensor("x", s.x);
  std::vector<graph::TensorId> outputs{builder.tensor("y", y_shape)};
  std::vector<graph::TensorId> inputs{builder.gradient("dy", y_shape)};
  if (max) {
    outputs.push_back(builder.tensor("index", y_shape, graph::Role::kActivation, graph::DType::kU8));
    inputs.push_back(outputs.back());
  }
  builder.op(max ? graph::OpKind::kMaxPool : graph::OpKind::kAvgPool, attributes, {x}, outputs);
  builder.op(max ? graph::OpKind::kMaxPoolBackward : graph::OpKind::kAvgPoolBackward, attributes, inputs,
             {builder.gradient("dx", s.x)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

// The gradient goes through the mask of y first, as autodiff has it.
OpCase clipped_max_pool_case(const graph::Shape& shape) {
  CaseBuilder builder("max pool with relu of " + graph::to_string(shape));
  const graph::PoolAttributes attributes{.window = graph::square_window(2, 2), .activation = graph::Activation::kRelu};
  const graph::Shape y_shape{shape[0], shape[1], shape[2] / 2, shape[3] / 2};
  const graph::TensorId x = builder.tensor("x", shape);
  const graph::TensorId y = builder.tensor("y", y_shape);
  const graph::TensorId index = builder.tensor("index", y_shape, graph::Role::kActivation, graph::DType::kU8);
  const graph::TensorId dy = builder.gradient("dy", y_shape);
  const graph::TensorId masked = builder.gradient("masked", y_shape);
  builder.op(graph::OpKind::kMaxPool, attributes, {x}, {y, index});
  builder.op(graph::OpKind::kReluBackward, {}, {y, dy}, {masked});
  builder.op(graph::OpKind::kMaxPoolBackward, graph::PoolAttributes{.window = graph::square_window(2, 2)},
             {masked, index}, {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

const graph::Window kFlat{.kernel_h = 1, .kernel_w = 3, .stride_h = 1, .stride_w = 2, .pad_left = 1};

}  // namespace

void add_pooling_cases(std::vector<OpCase>& cases) {
  for (const std::int64_t channels : {10, 32}) cases.push_back(clipped_max_pool_case({2, channels, 6, 4}));
  for (const std::int64_t channels : {3, 10, 16, 48}) {
    for (const bool max : {false, true}) {
      cases.push_back(pool_case({"k3 s2 p1", {4, channels, 9, 9}, graph::square_window(3, 2, 1)}, max));
      cases.push_back(pool_case({"k2 s2", {1, channels, 8, 8}, graph::square_window(2, 2)}, max));
      cases.push_back(pool_case({"whole image", {4, channels, 7, 7}, graph::square_window(7, 7)}, max));
    }
  }
  for (const std::int64_t channels : {10, 32}) {
    for (const bool max : {false, true}) {
      cases.push_back(pool_case({"k2 s2", {2, channels, 6, 8}, graph::square_window(2, 2), false}, max));
      cases.push_back(pool_case({"k3 s1 p1", {2, channels, 6, 5}, graph::square_window(3, 1, 1), false}, max));
      cases.push_back(pool_case({"k3 s2 padded behind only", {2, channels, 8, 8}, kBehindOnly, false}, max));
      cases.push_back(pool_case({"k1x3", {2, channels, 4, 7}, kFlat, false}, max));
    }
    cases.push_back(pool_case({"k3 s1 p1", {2, channels, 6, 5}, graph::square_window(3, 1, 1)}, false));
    cases.push_back(pool_case({"whole 3x5 image", {2, channels, 3, 5}, {.kernel_h = 3, .kernel_w = 5}}, false));
  }
}

}  // namespace sluice::testing

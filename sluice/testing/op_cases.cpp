#include "sluice/testing/op_cases.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>

#include "sluice/base/random.hpp"

namespace sluice {
namespace {

// Adds tensors and ops by name; an op's name is its first output's.
class CaseBuilder {
 public:
  explicit CaseBuilder(std::string name) {
    case_.name = std::move(name);
    case_.graph.name = case_.name;
    case_.graph.layers = {"layer"};
  }

  TensorId tensor(const std::string& name, Shape shape, Role role = Role::kActivation, DType dtype = DType::kF32) {
    return case_.graph.add_tensor({.name = name, .shape = std::move(shape), .dtype = dtype, .role = role});
  }
  void op(OpKind kind, const Attributes& attributes, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    Op op{.name = case_.graph.tensor(outputs.at(0)).name + "#" + std::to_string(case_.graph.op_count()),
          .kind = kind,
          .attributes = attributes,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs)};
    op.layer = 0;
    case_.graph.add_op(std::move(op));
  }
  // Parameter update after the backward ops: the momentum and weights then show where the gradient really went.
  void update(TensorId w, TensorId dw, const Shape& shape) {
    const TensorId momentum = tensor("momentum", shape, Role::kOptimizerState);
    op(OpKind::kSgdUpdate, {.momentum = 0.9F, .weight_decay = 0.1F}, {w, dw, momentum}, {w, momentum});
  }
  void claim(GradientClaim claim) { case_.gradients.push_back(std::move(claim)); }
  OpCase finish() { return std::move(case_); }

 private:
  OpCase case_;
};

struct ConvolutionShape {
  std::int64_t batch, in, size, out, kernel, stride, padding;
  bool bias;
};

OpCase convolution_case(const ConvolutionShape& s) {
  CaseBuilder builder("convolution b" + std::to_string(s.batch) + " " + std::to_string(s.in) + "x" +
                      std::to_string(s.size) + " to " + std::to_string(s.out) + " k" + std::to_string(s.kernel) + " s" +
                      std::to_string(s.stride) + (s.bias ? " bias" : ""));
  const Attributes attributes{.kernel_h = s.kernel, .kernel_w = s.kernel, .stride = s.stride, .padding = s.padding};
  const std::int64_t size = (s.size + 2 * s.padding - s.kernel) / s.stride + 1;
  const Shape x_shape{s.batch, s.in, s.size, s.size};
  const Shape y_shape{s.batch, s.out, size, size};
  const Shape w_shape{s.out, s.in, s.kernel, s.kernel};
  const TensorId x = builder.tensor("x", x_shape);
  const TensorId w = builder.tensor("w", w_shape, Role::kParameter);
  std::vector<TensorId> inputs{x, w};
  if (s.bias) inputs.push_back(builder.tensor("bias", {s.out}, Role::kParameter));
  builder.op(OpKind::kConv2d, attributes, inputs, {builder.tensor("y", y_shape)});
  const TensorId dy = builder.tensor("dy", y_shape, Role::kActivationGradient);
  const TensorId dx = builder.tensor("dx", x_shape, Role::kActivationGradient);
  builder.op(OpKind::kConv2dBackwardData, attributes, {dy, w}, {dx});
  const TensorId dw = builder.tensor("dw", w_shape, Role::kGradient);
  std::vector<TensorId> outputs{dw};
  if (s.bias) outputs.push_back(builder.tensor("dbias", {s.out}, Role::kGradient));
  builder.op(OpKind::kConv2dBackwardWeights, attributes, {x, dy}, outputs);
  builder.update(w, dw, w_shape);
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "w", "dw"});
  if (s.bias) builder.claim({"y", "dy", "bias", "dbias"});
  return builder.finish();
}

OpCase batch_norm_case(const Shape& shape, bool relu) {
  CaseBuilder builder("batch norm " + to_string(shape) + (relu ? " relu" : ""));
  const Attributes attributes{.relu = relu, .epsilon = 1e-5F, .momentum = 0.1F};
  const Shape per_channel{2, shape[1]};
  const TensorId x = builder.tensor("x", shape);
  const TensorId scale_shift = builder.tensor("scale_shift", per_channel, Role::kParameter);
  const TensorId running = builder.tensor("running", per_channel, Role::kBuffer);
  const TensorId stats = builder.tensor("stats", per_channel);
  std::vector<TensorId> outputs{builder.tensor("y", shape), stats, running};
  const TensorId dy = builder.tensor("dy", shape, Role::kActivationGradient);
  std::vector<TensorId> inputs{x, dy, scale_shift, stats};
  if (relu) {
    const TensorId mask = builder.tensor("mask", shape, Role::kActivation, DType::kU8);
    outputs.push_back(mask);
    inputs.push_back(mask);
  }
  builder.op(OpKind::kBatchNorm, attributes, {x, scale_shift, running}, outputs);
  builder.op(OpKind::kBatchNormBackward, attributes, inputs,
             {builder.tensor("dx", shape, Role::kActivationGradient),
              builder.tensor("dscale_shift", per_channel, Role::kGradient)});
  builder.claim({"y", "dy", "x", "dx"});
  builder.claim({"y", "dy", "scale_shift", "dscale_shift"});
  return builder.finish();
}

OpCase relu_case(const Shape& shape) {
  CaseBuilder builder("relu " + to_string(shape));
  const TensorId x = builder.tensor("x", shape);
  const TensorId y = builder.tensor("y", shape);
  const TensorId dy = builder.tensor("dy", shape, Role::kActivationGradient);
  builder.op(OpKind::kRelu, {}, {x}, {y});
  builder.op(OpKind::kReluBackward, {}, {y, dy}, {builder.tensor("dx", shape, Role::kActivationGradient)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

OpCase add_case(const Shape& shape, bool relu) {
  CaseBuilder builder("add " + to_string(shape) + (relu ? " relu" : ""));
  builder.op(OpKind::kAdd, {.relu = relu}, {builder.tensor("a", shape), builder.tensor("b", shape)},
             {builder.tensor("y", shape)});
  return builder.finish();
}

OpCase pool_case(const Shape& shape, std::int64_t kernel, std::int64_t stride, std::int64_t padding, bool max) {
  CaseBuilder builder((max ? "max pool " : "average pool ") + to_string(shape) + " k" + std::to_string(kernel) + " s" +
                      std::to_string(stride) + " p" + std::to_string(padding));
  const Attributes attributes{.kernel_h = kernel, .kernel_w = kernel, .stride = stride, .padding = padding};
  const std::int64_t size = (shape[2] + 2 * padding - kernel) / stride + 1;
  const Shape y_shape{shape[0], shape[1], size, size};
  const TensorId x = builder.tensor("x", shape);
  std::vector<TensorId> outputs{builder.tensor("y", y_shape)};
  std::vector<TensorId> inputs{builder.tensor("dy", y_shape, Role::kActivationGradient)};
  if (max) {
    outputs.push_back(builder.tensor("index", y_shape, Role::kActivation, DType::kU8));
    inputs.push_back(outputs.back());
  }
  const TensorId dx = builder.tensor("dx", shape, Role::kActivationGradient);
  builder.op(max ? OpKind::kMaxPool : OpKind::kAvgPool, attributes, {x}, outputs);
  builder.op(max ? OpKind::kMaxPoolBackward : OpKind::kAvgPoolBackward, attributes, inputs, {dx});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

// A dense layer of `out` features computed in slices of `slice`.
OpCase dense_case(const Shape& x_shape, std::int64_t out, std::int64_t slice, bool bias) {
  CaseBuilder builder("dense " + to_string(x_shape) + " to " + std::to_string(out) + " by " + std::to_string(slice) +
                      (bias ? " bias" : ""));
  const std::int64_t in = element_count(x_shape) / x_shape[0];
  const Shape y_shape{x_shape[0], out};
  const TensorId x = builder.tensor("x", x_shape);
  const TensorId y = builder.tensor("y", y_shape);
  const TensorId dy = builder.tensor("dy", y_shape, Role::kActivationGradient);
  const TensorId dx = builder.tensor("dx", x_shape, Role::kActivationGradient);
  const bool sliced = slice < out;
  for (std::int64_t begin = 0; begin < out; begin += slice) {
    const std::int64_t count = std::min(slice, out - begin);
    const std::string suffix = std::to_string(begin);
    Attributes attributes;
    if (sliced) attributes = {.out_begin = begin, .out_end = begin + count, .partial = begin > 0};
    const TensorId w = builder.tensor("w" + suffix, {count, in}, Role::kParameter);
    std::vector<TensorId> inputs{x, w};
    if (bias) inputs.push_back(builder.tensor("bias" + suffix, {count}, Role::kParameter));
    if (attributes.partial) inputs.push_back(y);
    builder.op(OpKind::kDense, attributes, inputs, {y});
    std::vector<TensorId> backward_inputs{dy, w};
    if (attributes.partial) backward_inputs.push_back(dx);
    builder.op(OpKind::kDenseBackwardData, attributes, backward_inputs, {dx});
    std::vector<TensorId> outputs{builder.tensor("dw" + suffix, {count, in}, Role::kGradient)};
    if (bias) outputs.push_back(builder.tensor("dbias" + suffix, {count}, Role::kGradient));
    builder.op(OpKind::kDenseBackwardWeights, attributes, {x, dy}, outputs);
    builder.claim({"y", "dy", "w" + suffix, "dw" + suffix});
    if (bias) builder.claim({"y", "dy", "bias" + suffix, "dbias" + suffix});
  }
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

OpCase loss_case(std::int64_t batch, std::int64_t classes) {
  CaseBuilder builder("softmax cross-entropy " + to_string(Shape{batch, classes}));
  const TensorId logits = builder.tensor("logits", {batch, classes});
  const TensorId labels = builder.tensor("labels", {batch}, Role::kInput, DType::kI32);
  const TensorId loss = builder.tensor("loss", {1}, Role::kOutput);
  const TensorId probabilities = builder.tensor("probabilities", {batch, classes});
  const TensorId dlogits = builder.tensor("dlogits", {batch, classes}, Role::kActivationGradient);
  builder.op(OpKind::kSoftmaxCrossEntropy, {}, {logits, labels}, {loss, probabilities});
  builder.op(OpKind::kSoftmaxCrossEntropyBackward, {}, {probabilities, labels}, {dlogits});
  builder.claim({"loss", "", "logits", "dlogits"});
  return builder.finish();
}

void add_convolution_cases(std::vector<OpCase>& cases) {
  const std::vector<ConvolutionShape> shapes{
      {1, 3, 9, 16, 3, 1, 1, true},   {4, 3, 14, 10, 7, 2, 3, false}, {4, 10, 6, 24, 3, 1, 1, false},
      {1, 16, 8, 32, 1, 1, 0, false}, {4, 32, 7, 16, 1, 2, 0, true},  {4, 16, 8, 16, 3, 2, 1, false},
      {1, 24, 5, 10, 3, 1, 0, true},  {4, 16, 6, 48, 3, 1, 1, true},
  };
  for (const ConvolutionShape& shape : shapes) cases.push_back(convolution_case(shape));
}

void add_elementwise_cases(std::vector<OpCase>& cases) {
  for (const Shape& shape : {Shape{4, 16, 5, 5}, Shape{1, 32, 7, 3}, Shape{4, 10, 6, 6}, Shape{4, 24, 3, 5}}) {
    for (const bool relu : {false, true}) {
      cases.push_back(batch_norm_case(shape, relu));
      cases.push_back(add_case(shape, relu));
    }
    cases.push_back(relu_case(shape));
  }
}

void add_pooling_cases(std::vector<OpCase>& cases) {
  for (const std::int64_t channels : {3, 10, 16, 48}) {
    for (const bool max : {false, true}) {
      cases.push_back(pool_case({4, channels, 9, 9}, 3, 2, 1, max));
      cases.push_back(pool_case({1, channels, 8, 8}, 2, 2, 0, max));
      cases.push_back(pool_case({4, channels, 7, 7}, 7, 7, 0, max));
    }
  }
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  add_convolution_cases(cases);
  add_elementwise_cases(cases);
  add_pooling_cases(cases);
  for (const bool bias : {false, true}) {
    cases.push_back(dense_case({4, 24}, 10, 10, bias));
    cases.push_back(dense_case({4, 16, 3, 3}, 20, 20, bias));
    cases.push_back(dense_case({1, 10, 2, 2}, 33, 16, bias));
    cases.push_back(dense_case({4, 32, 2, 2}, 48, 16, bias));
  }
  cases.push_back(loss_case(4, 10));
  cases.push_back(loss_case(1, 3));
  return cases;
}

std::string test_name(const OpCase& op_case) {
  std::string name = op_case.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::ostream& operator<<(std::ostream& out, const OpCase& op_case) { return out << op_case.name; }

NamedValues leaf_values(const Graph& logical, std::uint64_t seed) {
  std::vector<bool> written(logical.tensors().size(), false);
  NamedValues values;
  for (const Op& op : logical.ops()) {
    for (const TensorId id : op.inputs) {
      const Tensor& tensor = logical.tensor(id);
      if (written[static_cast<std::size_t>(id)] || values.contains(tensor.name)) continue;
      std::vector<float>& leaf = values[tensor.name];
      for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
        const float normal = random_normal(seed, stream_of(tensor.name), static_cast<std::uint64_t>(i));
        leaf.push_back(tensor.dtype == DType::kI32 ? static_cast<float>(i % 3) : normal + std::copysign(0.1F, normal));
      }
    }
    for (const TensorId id : op.outputs) written[static_cast<std::size_t>(id)] = true;
  }
  return values;
}

void set_leaves(GraphRunner& runner, const NamedValues& leaves) {
  for (const auto& [name, values] : leaves) {
    const TensorId id = runner.find(name);
    if (runner.graph().tensor(id).dtype == DType::kF32) {
      runner.set_plain(id, values);
    } else {
      std::copy(values.begin(), values.end(), reinterpret_cast<std::int32_t*>(runner.data(id)));
    }
  }
}

NamedValues run_case(const Graph& logical, GraphRunner& runner, const NamedValues& leaves, const StepContext& context) {
  std::map<std::string, const Op*> logical_ops;
  for (const Op& op : logical.ops()) logical_ops[op.name] = &op;
  set_leaves(runner, leaves);
  NamedValues values;
  for (OpIndex index = 0; index < runner.graph().op_count(); ++index) {
    runner.run_op(index, context);
    const auto source = logical_ops.find(runner.graph().op(index).name);
    if (source == logical_ops.end()) continue;  // a reorder of the backend's own
    for (std::size_t i = 0; i < source->second->outputs.size(); ++i) {
      const Tensor& tensor = logical.tensor(source->second->outputs[i]);
      if (tensor.dtype == DType::kF32) values[tensor.name] = runner.plain(runner.graph().op(index).outputs[i]);
    }
  }
  return values;
}

}  // namespace sluice

#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

OpCase softmax_case(const graph::Shape& shape, float scale, bool causal) {
  CaseBuilder builder("softmax " + graph::to_string(shape) + (scale != 1 ? " scaled" : "") + (causal ? " causal" : ""));
  const graph::SoftmaxAttributes attributes{.factor = scale, .causal = causal};
  const graph::TensorId y = builder.tensor("y", shape);
  builder.op(graph::OpKind::kSoftmax, attributes, {builder.tensor("x", shape)}, {y});
  builder.op(graph::OpKind::kSoftmaxBackward, attributes, {y, builder.gradient("dy", shape)},
             {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

OpCase cross_entropy_case(const graph::Shape& shape, bool hidden) {
  CaseBuilder builder("softmax cross-entropy " + graph::to_string(shape) + (hidden ? " of hidden tokens" : ""));
  const graph::TensorId logits = builder.tensor("logits", shape);
  const graph::TensorId labels = builder.integers("labels", graph::Shape(shape.begin(), shape.end() - 1), shape.back(),
                                                  hidden ? graph::Content::kHiddenTokens : graph::Content::kLabels);
  const graph::TensorId loss = builder.tensor("loss", {1}, graph::Role::kOutput);
  const graph::TensorId probabilities = builder.tensor("probabilities", shape);
  builder.op(graph::OpKind::kSoftmaxCrossEntropy, {}, {logits, labels}, {loss, probabilities});
  builder.op(graph::OpKind::kSoftmaxCrossEntropyBackward, {}, {probabilities, labels},
             {builder.gradient("dlogits", shape)});
  builder.claim({"loss", "", "logits", "dlogits"});
  return builder.finish();
}

// The rows of `shape` in slices that end at `ends`; labels and loss are of all of them.
OpCase sliced_cross_entropy_case(const graph::Shape& shape, const std::vector<std::int64_t>& ends) {
  CaseBuilder builder("softmax cross-entropy " + graph::to_string(shape) + " in " + std::to_string(ends.size()) +
                      " slices");
  const graph::TensorId labels = builder.integers("labels", graph::Shape(shape.begin(), shape.end() - 1), shape.back(),
                                                  graph::Content::kHiddenTokens);
  const graph::TensorId loss = builder.tensor("loss", {1}, graph::Role::kOutput);
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    const std::string suffix = std::to_string(begin);
    const graph::Shape rows = {end - begin, shape.back()};
    const graph::Slice part{.begin = begin, .end = end};
    graph::Slice adding = part;
    adding.accumulate = begin > 0;
    const graph::TensorId probabilities = builder.tensor("probabilities" + suffix, rows);
    std::vector<graph::TensorId> inputs = {builder.tensor("logits" + suffix, rows), labels};
    if (begin > 0) inputs.push_back(loss);
    builder.op_of_slice(graph::OpKind::kSoftmaxCrossEntropy, adding, inputs, {loss, probabilities});
    builder.op_of_slice(graph::OpKind::kSoftmaxCrossEntropyBackward, part, {probabilities, labels},
                        {builder.gradient("dlogits" + suffix, rows)});
    builder.claim({"loss", "", "logits" + suffix, "dlogits" + suffix});
    begin = end;
  }
  return builder.finish();
}

OpCase sigmoid_cross_entropy_case(const graph::Shape& shape, float target) {
  CaseBuilder builder("sigmoid cross-entropy " + graph::to_string(shape) + " against " +
                      std::to_string(static_cast<int>(100 * target)));
  const graph::TargetAttributes attributes{.target = target};
  const graph::TensorId logits = builder.scaled(builder.tensor("logits", shape), 4);
  builder.op(graph::OpKind::kSigmoidCrossEntropy, attributes, {logits},
             {builder.tensor("loss", {1}, graph::Role::kOutput)});
  builder.op(graph::OpKind::kSigmoidCrossEntropyBackward, attributes, {logits}, {builder.gradient("dlogits", shape)});
  builder.claim({"loss", "", "logits", "dlogits"});
  return builder.finish();
}

OpCase mean_loss_case(const graph::Shape& shape) {
  CaseBuilder builder("mean as a loss " + graph::to_string(shape));
  const graph::TensorId x = builder.scaled(builder.tensor("x", shape), 4);
  builder.op(graph::OpKind::kMeanLoss, {}, {x}, {builder.tensor("loss", {1}, graph::Role::kOutput)});
  builder.op(graph::OpKind::kMeanLossBackward, {}, {x}, {builder.gradient("dx", shape)});
  builder.claim({"loss", "", "x", "dx"});
  return builder.finish();
}

}  // namespace

void add_loss_cases(std::vector<OpCase>& cases) {
  for (const graph::Shape& shape :
       {graph::Shape{4, 10}, graph::Shape{2, 3, 5, 5}, graph::Shape{2, 2, 20, 20}, graph::Shape{3, 7, 33}}) {
    cases.push_back(softmax_case(shape, 1, false));
    cases.push_back(softmax_case(shape, 0.35F, true));
  }
  cases.push_back(softmax_case({2, 3, 40}, 0.5F, false));
  cases.push_back(cross_entropy_case({4, 10}, false));
  cases.push_back(cross_entropy_case({1, 3}, false));
  cases.push_back(cross_entropy_case({2, 6, 33}, false));
  cases.push_back(cross_entropy_case({2, 6, 33}, true));
  cases.push_back(sliced_cross_entropy_case({2, 6, 33}, {6, 12}));
  cases.push_back(sliced_cross_entropy_case({13, 5}, {5, 10, 13}));
  cases.push_back(sigmoid_cross_entropy_case({4, 1}, 1));
  cases.push_back(sigmoid_cross_entropy_case({4, 1}, 0));
  cases.push_back(sigmoid_cross_entropy_case({3, 1, 2, 2}, 0.9F));
  cases.push_back(mean_loss_case({1}));
  cases.push_back(mean_loss_case({3, 7, 5}));
}

}  // namespace sluice::testing

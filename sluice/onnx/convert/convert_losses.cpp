// Losses that a model computes itself: cross-entropy and the negative logarithm of a likelihood, with weights of classes
// and labels that do not count. With e 1 where a class is the label, else 0, a sample's loss is -sum(w e log p).
#include <fmt/format.h>

#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

enum class LossReduction { kNone, kSum, kMean };

Result<LossReduction> reduction_of(Node& node) {
  const std::string text = node.attributes.text("reduction", "mean");
  if (text == "none") return LossReduction::kNone;
  if (text == "sum") return LossReduction::kSum;
  if (text == "mean") return LossReduction::kMean;
  return node.error(fmt::format("has the unknown reduction '{}'", text));
}

// [1, C, 1, ...]
graph::Shape along_classes(const graph::Shape& shape) {
  graph::Shape along(shape.size(), 1);
  along[1] = shape[1];
  return along;
}

// [1, C, 1, ...]: what each class counts; -1 where all count the same.
Result<graph::TensorId> class_weights(Node& node, const graph::Shape& shape) {
  const graph::Shape along = along_classes(shape);
  graph::TensorId weights = -1;
  if (node.has(2)) {
    SLUICE_ASSIGN(const graph::TensorId given, node.tensor(2));
    weights = reshape_to(node, given, along);
  }
  const std::int64_t left_out = node.attributes.integer("ignore_index", -1);
  if (left_out < 0 || left_out >= shape[1]) return weights;  // such a label is no class, so it counts nothing anyway
  HostArray counted = filled(along, 1.0F);
  counted.floats[as_index(left_out)] = 0;
  SLUICE_ASSIGN(const graph::TensorId others, constant(node, std::move(counted), ".counted"));
  return weights < 0 ? others : combine(node, graph::BinaryFunction::kMultiply, weights, others);
}

// [N, C, ...]: 1 where a class is the label.
Result<graph::TensorId> marked_labels(Node& node, const graph::Shape& shape) {
  SLUICE_ASSIGN(const graph::TensorId labels, node.tensor(1));
  if (node.builder.failed()) return labels;
  graph::Shape each = shape;
  each[1] = 1;
  if (graph::element_count(node.builder.shape(labels)) != graph::element_count(each)) {
    return node.error(fmt::format("has scores {} and labels {}", graph::to_string(shape),
                                  graph::to_string(node.builder.shape(labels))));
  }
  SLUICE_ASSIGN(const graph::TensorId classes, numbers_from(node, 0, shape[1]));
  const graph::TensorId along = reshape_to(node, classes, along_classes(shape));
  return combine(node, graph::BinaryFunction::kEqual, reshape_to(node, labels, each), along);
}

Result<graph::TensorId> total(Node& node, graph::TensorId x) {
  std::vector<std::int64_t> axes(node.builder.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  return reshape_to(node, reduce_over(node, graph::ReduceFunction::kSum, x, axes), {1});
}

// Of logarithms of probabilities [N, C, ...].
Status set_likelihood(Node& node, graph::TensorId logarithms) {
  graph::GraphBuilder& builder = node.builder;
  SLUICE_ASSIGN(const LossReduction reduction, reduction_of(node));
  if (builder.failed()) return {};
  const graph::Shape shape = builder.shape(logarithms);
  if (shape.size() < 2) return node.error(fmt::format("has scores {} without classes", graph::to_string(shape)));
  SLUICE_ASSIGN(graph::TensorId counts, marked_labels(node, shape));
  SLUICE_ASSIGN(const graph::TensorId weights, class_weights(node, shape));
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(graph::TensorId picked, select(node, counts, logarithms, zero));
  if (weights >= 0) {
    SLUICE_ASSIGN(counts, combine(node, graph::BinaryFunction::kMultiply, counts, weights));
    SLUICE_ASSIGN(picked, combine(node, graph::BinaryFunction::kMultiply, picked, weights));
  }
  if (builder.failed()) return {};
  if (reduction == LossReduction::kNone) {
    graph::Shape each = shape;
    each.erase(each.begin() + 1);
    const graph::TensorId sums = reduce_over(node, graph::ReduceFunction::kSum, picked, {1});
    node.set(reshape_to(node, affine(node, sums, -1, 0), each));
    return {};
  }
  SLUICE_ASSIGN(graph::TensorId loss, total(node, picked));
  if (reduction == LossReduction::kMean) {
    SLUICE_ASSIGN(const graph::TensorId count, total(node, counts));
    SLUICE_ASSIGN(loss, combine(node, graph::BinaryFunction::kDivide, loss, count));
  }
  node.set(affine(node, loss, -1, 0));
  return {};
}

Status convert_likelihood(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId logarithms, node.tensor(0));
  return set_likelihood(node, logarithms);
}

Status convert_cross_entropy(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId scores, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId logarithms, log_softmax_along(node, scores, 1));
  if (node.proto.output_size() > 1) node.set(logarithms, 1);
  return set_likelihood(node, logarithms);
}

}  // namespace

void add_loss_converters(ConverterTable& table) {
  table["NegativeLogLikelihoodLoss"] = convert_likelihood;
  table["SoftmaxCrossEntropyLoss"] = convert_cross_entropy;
}

}  // namespace sluice::onnx

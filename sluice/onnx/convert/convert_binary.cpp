// Arithmetic of two tensors, with numbers, and with masks.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

constexpr float kHidden = -1e4F;  // scores below are hidden by a softmax

bool is_number(const Value& value) { return value.kind == Value::Kind::kArray && value.array->count() == 1; }

// A number may have more dimensions than the tensor: [1, 1, 1] + [N] is [1, 1, N].
graph::TensorId with_rank(graph::GraphBuilder& builder, graph::TensorId x, std::size_t rank) {
  if (builder.failed() || builder.shape(x).size() >= rank) return x;
  graph::Shape shape = builder.shape(x);
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return builder.reshape(x, shape);
}

// x op number, or number op x when `reversed`.
graph::TensorId with_number(Node& node, graph::TensorId x, graph::BinaryFunction function, float number,
                            bool reversed) {
  switch (function) {
    case graph::BinaryFunction::kAdd:
      return affine(node, x, 1, number);
    case graph::BinaryFunction::kSubtract:
      return reversed ? affine(node, x, -1, number) : affine(node, x, 1, -number);
    case graph::BinaryFunction::kMultiply:
      return affine(node, x, number, 0);
    default:  // a division
      return reversed ? affine(node, apply(node, graph::UnaryFunction::kPower, x, -1), number, 0)
                      : affine(node, x, 1 / number, 0);
  }
}

// Whether `hides(i)` holds exactly above the diagonal of the last two dimensions, whose extents are those of `scores`.
template <typename Hides>
bool is_causal(const graph::Shape& mask, const graph::Shape& scores, const Hides& hides) {
  const std::size_t rank = mask.size();
  if (rank < 2 || scores.size() < rank || graph::element_count(mask) != mask[rank - 1] * mask[rank - 2]) return false;
  const std::int64_t rows = mask[rank - 2];
  const std::int64_t columns = mask[rank - 1];
  if (rows != columns || scores.back() != columns || scores[scores.size() - 2] != rows) return false;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    if (hides(i) != (i % columns > i / columns)) return false;
  }
  return true;
}

// Sets the scores as they are, with a word to the softmax that reads them. False when something else does.
bool leave_to_softmax(Node& node, const Value& scores) {
  if (scores.causal || node.only_reader("Softmax") == nullptr) return false;
  Value masked = scores;
  masked.causal = true;
  node.set(masked);
  return true;
}

// x + mask, when the mask is known: nothing to add, or what a causal softmax does itself.
bool set_masked(Node& node, const Value& x, const HostArray& mask, const graph::Shape& shape) {
  if (mask.is_integer || mask.shape.size() > shape.size()) return false;
  for (std::size_t d = 0; d < mask.shape.size(); ++d) {
    const std::int64_t extent = mask.shape[mask.shape.size() - 1 - d];
    if (extent != 1 && extent != shape[shape.size() - 1 - d]) return false;
  }
  if (std::all_of(mask.floats.begin(), mask.floats.end(), [](float value) { return value == 0; })) {
    node.set(x);
    return true;
  }
  const auto hidden = [&](std::int64_t i) { return mask.at(i) <= kHidden; };
  const auto zero_or_hidden = [](float value) { return value == 0 || value <= kHidden; };
  return std::all_of(mask.floats.begin(), mask.floats.end(), zero_or_hidden) && is_causal(mask.shape, shape, hidden) &&
         leave_to_softmax(node, x);
}

Status convert_with_number(Node& node, graph::BinaryFunction function, int tensor) {
  const HostArray& number = *node.value(1 - tensor).array;
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(tensor));
  const graph::TensorId y = with_number(node, x, function, static_cast<float>(number.at(0)), tensor == 1);
  node.set(with_rank(node.builder, y, number.shape.size()));
  return {};
}

Status convert_binary(Node& node, graph::BinaryFunction function) {
  const Value a = node.value(0);
  const Value b = node.value(1);
  if (is_number(b)) return convert_with_number(node, function, 0);
  if (is_number(a)) return convert_with_number(node, function, 1);
  if (function == graph::BinaryFunction::kAdd) {
    SLUICE_ASSIGN(const graph::Shape shape_a, node.shape(0));
    SLUICE_ASSIGN(const graph::Shape shape_b, node.shape(1));
    if (b.kind == Value::Kind::kArray && set_masked(node, a, *b.array, shape_a)) return {};
    if (a.kind == Value::Kind::kArray && set_masked(node, b, *a.array, shape_b)) return {};
  }
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId y, node.tensor(1));
  if (function == graph::BinaryFunction::kAdd && node.builder.shape(x) == node.builder.shape(y)) {
    const graph::Activation activation = node.absorb_activation();
    node.set(node.builder.add(x, y, activation));
    return {};
  }
  SLUICE_ASSIGN(const graph::TensorId result, combine(node, function, x, y));
  node.set(result);
  return {};
}

// Whole numbers are divided towards zero.
Status convert_divide_integers(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId y, node.tensor(1));
  SLUICE_ASSIGN(const graph::TensorId quotient, combine(node, graph::BinaryFunction::kDivide, x, y));
  SLUICE_ASSIGN(const graph::TensorId whole, truncate(node, quotient));
  node.set_integral(whole);
  return {};
}

Status convert_add(Node& node) { return convert_binary(node, graph::BinaryFunction::kAdd); }
Status convert_subtract(Node& node) { return convert_binary(node, graph::BinaryFunction::kSubtract); }
Status convert_multiply(Node& node) { return convert_binary(node, graph::BinaryFunction::kMultiply); }
Status convert_divide(Node& node) {
  return node.is_integral(0) ? convert_divide_integers(node) : convert_binary(node, graph::BinaryFunction::kDivide);
}

// Of two sides, numbers among them, by a condition that is known or not.
Status choose(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId condition, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId first, node.tensor(1));
  SLUICE_ASSIGN(const graph::TensorId second, node.tensor(2));
  SLUICE_ASSIGN(const graph::TensorId chosen, select(node, condition, first, second));
  node.set(chosen);
  return {};
}

Status convert_where(Node& node) {
  if (!node.is_constant(0)) return choose(node);
  SLUICE_ASSIGN(const HostArray condition, node.array(0));
  if (condition.count() == 0) return node.error("has an empty condition");
  const bool tensor_first = node.value(1).kind == Value::Kind::kTensor;
  const int kept = tensor_first ? 1 : 2;
  if (!is_number(node.value(3 - kept))) return choose(node);
  const auto other = static_cast<float>(node.value(3 - kept).array->at(0));
  SLUICE_ASSIGN(const graph::Shape shape, node.shape(kept));
  const auto hidden = [&](std::int64_t i) { return (condition.at(i) != 0) != tensor_first; };
  if (other <= kHidden && is_causal(condition.shape, shape, hidden) && leave_to_softmax(node, node.value(kept))) {
    return {};
  }
  bool any_hidden = condition.shape.size() > shape.size();
  for (std::int64_t i = 0; i < condition.count() && !any_hidden; ++i) any_hidden = hidden(i);
  if (any_hidden) return choose(node);
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(kept));
  node.set(x);
  return {};
}

}  // namespace

void add_binary_converters(ConverterTable& table) {
  table["Add"] = convert_add;
  table["Sub"] = convert_subtract;
  table["Mul"] = convert_multiply;
  table["Div"] = convert_divide;
  table["Where"] = convert_where;
}

}  // namespace sluice::onnx

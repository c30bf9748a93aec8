// Sums of products by labels, as one matrix product for two operands at a time; and Fourier transforms, which are a
// product with a matrix of sines and cosines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

// A tensor whose dimensions have labels: letters, and digits for the dimensions of an ellipsis, counted from the last.
struct Labelled {
  graph::TensorId tensor = -1;
  std::string labels;
};

bool has_label(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

std::string ellipsis_labels(std::size_t count) {
  std::string labels;
  for (std::size_t i = count; i-- > 0;) labels += static_cast<char>('0' + i);
  return labels;
}

// "ij...k" for a tensor of `rank` dimensions. Errors: other characters, too few or too many labels.
Result<std::string> expanded(Node& node, const std::string& term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
  std::string labels = term;
  if (dots != std::string::npos && letters <= rank && rank - letters <= 10) {
    labels.replace(dots, 3, ellipsis_labels(rank - letters));
  }
  const auto known = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (labels.size() != rank || !std::all_of(labels.begin(), labels.end(), known)) {
    return node.error(fmt::format("has the term '{}' for a tensor of {} dimensions", term, rank));
  }
  return labels;
}

// One dimension for each label: of dimensions with the same one only the diagonal stays.
Result<Labelled> without_repeats(Node& node, Labelled x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const std::size_t again = x.labels.find(x.labels[i], i + 1);
    if (again == std::string::npos) continue;
    x.tensor = move_axis(node, x.tensor, as_id<std::int64_t>(again), as_id<std::int64_t>(i) + 1);
    x.labels.erase(again, 1);
    if (node.builder.failed()) return x;
    graph::Shape shape = node.builder.shape(x.tensor);
    const std::int64_t extent = shape[i];
    if (shape[i + 1] != extent) return node.error("takes the diagonal of what is not square");
    SLUICE_RETURN_IF_ERROR(check_terms(node, extent, 1));
    shape.erase(iterator_at(shape, i) + 1);
    shape[i] = extent * extent;
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < extent; ++k) places.push_back(k * (extent + 1));
    SLUICE_ASSIGN(x.tensor, take_along(node, reshape_to(node, x.tensor, shape), as_id<std::int64_t>(i), places));
    --i;  // there may be a third
  }
  return x;
}

// Sums over the labels that `kept` has not.
Labelled summed_up(Node& node, Labelled x, const std::string& kept) {
  std::vector<std::int64_t> axes;
  std::string labels;
  graph::Shape shape;
  for (std::size_t d = 0; d < x.labels.size(); ++d) {
    if (has_label(kept, x.labels[d])) {
      labels += x.labels[d];
      shape.push_back(node.builder.shape(x.tensor)[d]);
    } else {
      axes.push_back(as_id<std::int64_t>(d));
    }
  }
  if (axes.empty()) return x;
  const graph::TensorId sum = reduce_over(node, graph::ReduceFunction::kSum, x.tensor, axes);
  return {reshape_to(node, sum, shape.empty() ? graph::Shape{1} : shape), labels};
}

// x with its dimensions in the order of `labels`, all of which it has.
graph::TensorId in_order(Node& node, const Labelled& x, const std::string& labels) {
  std::vector<std::int64_t> axes;
  for (const char label : labels) axes.push_back(static_cast<std::int64_t>(x.labels.find(label)));
  return transpose_to(node, x.tensor, axes);
}

std::int64_t extent_of(Node& node, const Labelled& x, const std::string& labels) {
  std::int64_t count = 1;
  for (const char label : labels) count *= node.builder.shape(x.tensor)[x.labels.find(label)];
  return count;
}

// The product of two, summed over the labels that neither `kept` nor one of them alone has.
Result<Labelled> multiplied(Node& node, Labelled a, Labelled b, const std::string& kept) {
  a = summed_up(node, a, kept + b.labels);
  b = summed_up(node, b, kept + a.labels);
  if (node.builder.failed()) return a;
  std::string batch, rows, columns, inner;
  graph::Shape shape;
  for (const char label : a.labels)
    (has_label(b.labels, label) ? (has_label(kept, label) ? batch : inner) : rows) += label;
  for (const char label : b.labels) columns += has_label(a.labels, label) ? "" : std::string(1, label);
  for (const char label : batch + inner) {
    const std::int64_t here = extent_of(node, a, std::string(1, label));
    const std::int64_t there = extent_of(node, b, std::string(1, label));
    if (here != there) return node.error(fmt::format("has extents {} and {} for '{}'", here, there, label));
  }
  for (const char label : batch + rows) shape.push_back(extent_of(node, a, std::string(1, label)));
  for (const char label : columns) shape.push_back(extent_of(node, b, std::string(1, label)));
  const std::int64_t count = extent_of(node, a, batch);
  const std::int64_t depth = extent_of(node, a, inner);
  const graph::TensorId left =
      reshape_to(node, in_order(node, a, batch + rows + inner), {count, extent_of(node, a, rows), depth});
  const graph::TensorId right =
      reshape_to(node, in_order(node, b, batch + inner + columns), {count, depth, extent_of(node, b, columns)});
  graph::ProductAttributes attributes;
  attributes.factor = 1;
  SLUICE_ASSIGN(const graph::TensorId product, node.add(graph::OpKind::kMatMul, attributes, {left, right}));
  return Labelled{reshape_to(node, product, shape.empty() ? graph::Shape{1} : shape), batch + rows + columns};
}

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> result;
};

Result<Equation> equation_of(Node& node) {
  std::string text = node.attributes.text("equation", "");
  std::erase(text, ' ');
  Equation equation;
  if (const std::size_t arrow = text.find("->"); arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
    text.resize(arrow);
  }
  std::size_t begin = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
    equation.terms.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  equation.terms.push_back(text.substr(begin));
  if (equation.terms.size() != as_index(node.inputs())) {
    return node.error(fmt::format("has {} terms for {} inputs", equation.terms.size(), node.inputs()));
  }
  return equation;
}

// Without a result in the equation: the ellipsis, then the labels that are there once, in alphabetical order.
std::string implied_result(const std::vector<Labelled>& operands) {
  std::map<char, int> counts;
  for (const Labelled& operand : operands) {
    for (const char label : operand.labels) ++counts[label];
  }
  std::string digits, letters;
  for (const auto& [label, count] : counts) {
    if (std::isdigit(static_cast<unsigned char>(label)) != 0)
      digits.insert(digits.begin(), label);
    else if (count == 1)
      letters += label;
  }
  return digits + letters;
}

Status convert_einsum(Node& node) {
  SLUICE_ASSIGN(const Equation equation, equation_of(node));
  std::vector<Labelled> operands;
  std::size_t ellipsis = 0;
  for (int i = 0; i < node.inputs(); ++i) {
    Labelled operand;
    SLUICE_ASSIGN(operand.tensor, node.tensor(i));
    if (node.builder.failed()) return {};
    const std::string& term = equation.terms[as_index(i)];
    const std::size_t rank = node.builder.shape(operand.tensor).size();
    SLUICE_ASSIGN(operand.labels, expanded(node, term, rank));
    if (has_label(term, '.')) ellipsis = std::max(ellipsis, rank + 3 - term.size());
    operands.push_back(std::move(operand));
  }
  std::string result = implied_result(operands);
  if (equation.result) {
    const std::size_t dots = equation.result->find("...");
    const std::size_t rank = equation.result->size() - (dots == std::string::npos ? 0 : 3 - ellipsis);
    SLUICE_ASSIGN(result, expanded(node, *equation.result, rank));
  }
  for (Labelled& operand : operands) {
    SLUICE_ASSIGN(operand, without_repeats(node, operand));
  }
  Labelled product = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::string kept = result;
    for (std::size_t later = i + 1; later < operands.size(); ++later) kept += operands[later].labels;
    SLUICE_ASSIGN(product, multiplied(node, product, operands[i], kept));
  }
  if (node.builder.failed()) return {};
  product = summed_up(node, product, result);
  for (const char label : result) {
    if (!has_label(product.labels, label)) return node.error(fmt::format("has no operand with the label '{}'", label));
  }
  if (result.size() != product.labels.size()) return node.error("names a label twice in its result");
  node.set(result.empty() ? product.tensor : in_order(node, product, result));
  return {};
}

// Rows: real and imaginary part of each frequency; columns: those of each element (real ones alone where there are no
// others).
graph::SparseMatrix fourier_matrix(std::int64_t length, std::int64_t outputs, std::int64_t parts, bool inverse) {
  graph::SparseMatrix matrix;
  matrix.columns = length * parts;
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  for (std::int64_t row = 0; row < 2 * outputs; ++row) {
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      const auto turns = static_cast<double>(row / 2 * (column / parts) % length) / static_cast<double>(length);
      const double angle = (inverse ? 2 : -2) * std::numbers::pi * turns;
      const bool imaginary = column % parts == 1;
      const double value = row % 2 == 0 ? (imaginary ? -std::sin(angle) : std::cos(angle))
                                        : (imaginary ? std::cos(angle) : std::sin(angle));
      matrix.add_term(column, static_cast<float>(scale * value));
    }
    matrix.end_row();
  }
  return matrix;
}

// x [..., n, ..., 1 or 2] along an axis that is not the last.
Status convert_fourier(Node& node) {
  SLUICE_ASSIGN(graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x);
  const auto rank = std::ssize(shape);
  const bool inverse = node.attributes.integer("inverse", 0) != 0;
  const bool half = node.attributes.integer("onesided", 0) != 0;
  std::int64_t stated = node.attributes.integer("axis", node.opset() < 20 ? 1 : -2);
  if (node.has(2)) {
    SLUICE_ASSIGN(const std::vector<std::int64_t> given, node.integers(2));
    if (given.size() == 1) stated = given[0];
  }
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, shape.size()));
  if (rank < 2 || axis == rank - 1 || (shape.back() != 1 && shape.back() != 2) || (inverse && half)) {
    return node.error(
        fmt::format("needs real or complex numbers along their last dimension, got {}", graph::to_string(shape)));
  }
  std::int64_t length = shape[as_index(axis)];
  if (node.has(1)) {
    SLUICE_ASSIGN(const std::vector<std::int64_t> given, node.integers(1));
    if (given.size() == 1) length = given[0];
  }
  if (length < 1 || length > 1024) return node.error(fmt::format("transforms {} elements; at most 1024", length));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < length; ++i) places.push_back(i < shape[as_index(axis)] ? i : -1);
  SLUICE_ASSIGN(x, take_along(node, x, axis, places));
  x = move_axis(node, x, axis, rank - 2);
  if (node.builder.failed()) return {};
  graph::Shape moved = node.builder.shape(x);
  const std::int64_t parts = moved.back();
  const std::int64_t outputs = half ? length / 2 + 1 : length;
  graph::Shape flat(moved.begin(), moved.end() - 1);
  flat.back() = length * parts;
  SLUICE_ASSIGN(graph::TensorId y, multiply_along(node, reshape_to(node, x, flat), rank - 2,
                                                  fourier_matrix(length, outputs, parts, inverse)));
  moved[as_index(rank - 2)] = outputs;
  moved.back() = 2;
  y = reshape_to(node, y, moved);
  node.set(move_axis(node, y, rank - 2, axis));
  return {};
}

}  // namespace

void add_einsum_converters(ConverterTable& table) {
  table["Einsum"] = convert_einsum;
  table["DFT"] = {convert_fourier, "of up to 1024 elements"};
}

}  // namespace sluice::onnx

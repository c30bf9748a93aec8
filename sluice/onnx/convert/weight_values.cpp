// Evaluates weight expressions, forwards and backwards.
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/arrays/host_array.hpp"
#include "sluice/onnx/convert/weight_expression.hpp"

namespace sluice::onnx {
namespace {

using WeightKind = WeightExpression::Kind;
using Values = std::vector<float>;

// A part of a tensor along one axis: rows of `length` elements, every `stride` elements from `begin`.
struct Rows {
  std::int64_t count = 1, length = 1, stride = 1, begin = 0;
};

Rows rows_of(const graph::Shape& whole, const graph::Shape& part, std::int64_t axis, std::int64_t begin) {
  Rows rows;
  for (std::size_t d = 0; d < as_index(axis); ++d) rows.count *= whole[d];
  std::int64_t below = 1;
  for (std::size_t d = as_index(axis) + 1; d < whole.size(); ++d) below *= whole[d];
  rows.length = part[as_index(axis)] * below;
  rows.stride = whole[as_index(axis)] * below;
  rows.begin = begin * below;
  return rows;
}

void take_rows(const Rows& rows, const Values& whole, Values& part) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    std::copy_n(whole.begin() + rows.begin + i * rows.stride, rows.length, part.begin() + i * rows.length);
  }
}

void put_rows(const Rows& rows, const Values& part, Values& whole) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    std::copy_n(part.begin() + i * rows.length, rows.length, whole.begin() + rows.begin + i * rows.stride);
  }
}

Result<Values> whole_value(const WeightExpression& x, const ReadInitializer& read);

Result<Values> joined_value(const WeightExpression& x, const ReadInitializer& read) {
  Values result(as_index(graph::element_count(x.shape)));
  std::int64_t at = 0;
  for (const Weights& part : x.parts) {
    SLUICE_ASSIGN(const Values value, whole_value(*part, read));
    put_rows(rows_of(x.shape, part->shape, x.axis, at), value, result);
    at += part->shape[as_index(x.axis)];
  }
  return result;
}

Result<Values> whole_value(const WeightExpression& x, const ReadInitializer& read) {
  if (x.kind == WeightKind::kConcat) return joined_value(x, read);
  if (x.kind == WeightKind::kLiteral) return x.values;
  Values result(as_index(graph::element_count(x.shape)));
  if (x.kind == WeightKind::kInitializer) {
    SLUICE_RETURN_IF_ERROR(read(x.name, 0, result));
    return result;
  }
  SLUICE_ASSIGN(Values operand, whole_value(*x.parts[0], read));
  if (x.kind == WeightKind::kReshape) return operand;
  if (x.kind == WeightKind::kTranspose) return transpose_elements(operand, x.parts[0]->shape, x.axes);
  take_rows(rows_of(x.parts[0]->shape, x.shape, x.axis, x.begin), operand, result);  // a slice
  return result;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) result[as_index(axes[i])] = as_id<std::int64_t>(i);
  return result;
}

// The value of an expression over initializers in memory: what a slice's operand is before it changes.
Values current_value(const WeightExpression& x, const InitializerValues& initializers) {
  const ReadInitializer read = [&](const std::string& name, std::int64_t first, std::span<float> values) {
    std::copy_n(initializers.at(name).begin() + first, values.size(), values.begin());
    return Status();
  };
  return whole_value(x, read).value();
}

void write_back_join(const WeightExpression& x, const Values& values, InitializerValues& initializers) {
  std::int64_t at = 0;
  for (const Weights& part : x.parts) {
    Values piece(as_index(graph::element_count(part->shape)));
    take_rows(rows_of(x.shape, part->shape, x.axis, at), values, piece);
    write_back_weights(*part, std::move(piece), initializers);
    at += part->shape[as_index(x.axis)];
  }
}

}  // namespace

Status evaluate_weights(const WeightExpression& expression, const ReadInitializer& read, std::int64_t first,
                        std::span<float> values) {
  const WeightExpression* x = &expression;
  while (x->kind == WeightKind::kReshape) x = x->parts[0].get();
  if (x->kind == WeightKind::kInitializer) return read(x->name, first, values);
  SLUICE_ASSIGN(const Values whole, whole_value(*x, read));
  const auto begin = as_index(first);
  if (first < 0 || begin > whole.size() || values.size() > whole.size() - begin) {
    return Error{ErrorCode::kBadInput, "the model's weights have fewer elements than asked for"};
  }
  std::copy_n(whole.begin() + first, values.size(), values.begin());
  return {};
}

void write_back_weights(const WeightExpression& expression, Values values, InitializerValues& initializers) {
  switch (expression.kind) {
    case WeightKind::kInitializer:
      initializers[expression.name] = std::move(values);
      return;
    case WeightKind::kLiteral:
      return;
    case WeightKind::kTranspose:
      return write_back_weights(*expression.parts[0],
                                transpose_elements(values, expression.shape, inverse(expression.axes)), initializers);
    case WeightKind::kReshape:
      return write_back_weights(*expression.parts[0], std::move(values), initializers);
    case WeightKind::kSlice: {
      Values whole = current_value(*expression.parts[0], initializers);
      put_rows(rows_of(expression.parts[0]->shape, expression.shape, expression.axis, expression.begin), values, whole);
      return write_back_weights(*expression.parts[0], std::move(whole), initializers);
    }
    case WeightKind::kConcat:
      return write_back_join(expression, values, initializers);
  }
}

}  // namespace sluice::onnx

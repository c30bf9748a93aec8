#include "sluice/onnx/convert/weight_expression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::onnx {
namespace {

using WeightKind = WeightExpression::Kind;

Weights make(WeightKind kind, graph::Shape shape, std::vector<Weights> parts, std::int64_t axis = 0,
             std::int64_t begin = 0, std::vector<std::int64_t> axes = {}) {
  auto made = std::make_shared<WeightExpression>();
  made->kind = kind;
  made->shape = std::move(shape);
  for (const Weights& part : parts) {
    if (part == nullptr) return nullptr;
    made->size += part->size;
  }
  if (made->size > kMostExpressionNodes) return nullptr;
  made->parts = std::move(parts);
  made->axis = axis;
  made->begin = begin;
  made->axes = std::move(axes);
  return made;
}

bool is_identity(const std::vector<std::int64_t>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != as_id<std::int64_t>(i)) return false;
  }
  return true;
}

// `b` continues `a` where both are slices of one thing: the slice of both, else null.
Weights merged(const Weights& a, const Weights& b, std::int64_t axis) {
  const bool slices =
      a->kind == WeightKind::kSlice && b->kind == WeightKind::kSlice && a->axis == axis && b->axis == axis;
  if (!slices || a->begin + a->shape[as_index(axis)] != b->begin) return nullptr;
  if (a->parts[0]->text() != b->parts[0]->text()) return nullptr;
  return sliced_weights(a->parts[0], axis, a->begin, b->begin + b->shape[as_index(axis)]);
}

// The parts of a concatenation that overlap [begin, end) of its axis.
Weights slice_of_join(const WeightExpression& join, std::int64_t begin, std::int64_t end) {
  std::vector<Weights> parts;
  std::int64_t at = 0;
  for (const Weights& part : join.parts) {
    const std::int64_t extent = part->shape[as_index(join.axis)];
    const std::int64_t from = std::max(begin, at) - at;
    const std::int64_t to = std::min(end, at + extent) - at;
    if (from < to) parts.push_back(sliced_weights(part, join.axis, from, to));
    at += extent;
  }
  return joined_weights(parts, join.axis);
}

}  // namespace

std::string WeightExpression::text() const {
  std::vector<std::string> operands;
  for (const Weights& part : parts) operands.push_back(part->text());
  const std::string inner = fmt::format("{}", fmt::join(operands, ","));
  switch (kind) {
    case WeightKind::kInitializer:
      return name;
    case WeightKind::kLiteral:
      return fmt::format("literal({}@{})", graph::to_string(shape), static_cast<const void*>(values.data()));
    case WeightKind::kTranspose:
      return fmt::format("transpose({},{})", inner, fmt::join(axes, "/"));
    case WeightKind::kReshape:
      return fmt::format("reshape({},{})", inner, fmt::join(shape, "/"));
    case WeightKind::kSlice:
      return fmt::format("slice({},{},{}:{})", inner, axis, begin, begin + shape[as_index(axis)]);
    case WeightKind::kConcat:
      return fmt::format("join({},{})", inner, axis);
  }
  return {};
}

void WeightExpression::collect_initializers(std::set<std::string>& names) const {
  if (kind == WeightKind::kInitializer) names.insert(name);
  for (const Weights& part : parts) part->collect_initializers(names);
}

Weights initializer_weights(std::string name, graph::Shape shape) {
  auto made = std::make_shared<WeightExpression>();
  made->shape = std::move(shape);
  made->name = std::move(name);
  return made;
}

Weights literal_weights(std::vector<float> values, graph::Shape shape) {
  auto made = std::make_shared<WeightExpression>();
  made->kind = WeightKind::kLiteral;
  made->shape = std::move(shape);
  made->values = std::move(values);
  return made;
}

Weights transposed_weights(const Weights& x, std::vector<std::int64_t> axes) {
  if (x == nullptr) return nullptr;
  if (x->kind == WeightKind::kTranspose) {
    for (std::int64_t& axis : axes) axis = x->axes[as_index(axis)];
    return transposed_weights(x->parts[0], std::move(axes));
  }
  if (is_identity(axes)) return x;
  graph::Shape shape;
  for (const std::int64_t axis : axes) shape.push_back(x->shape[as_index(axis)]);
  return make(WeightKind::kTranspose, std::move(shape), {x}, 0, 0, std::move(axes));
}

Weights reshaped_weights(const Weights& x, graph::Shape shape) {
  if (x == nullptr || x->shape == shape) return x;
  if (x->kind == WeightKind::kReshape) return reshaped_weights(x->parts[0], std::move(shape));
  return make(WeightKind::kReshape, std::move(shape), {x});
}

Weights sliced_weights(const Weights& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  if (x == nullptr || (begin == 0 && end == x->shape[as_index(axis)])) return x;
  if (x->kind == WeightKind::kSlice && x->axis == axis) {
    return sliced_weights(x->parts[0], axis, x->begin + begin, x->begin + end);
  }
  if (x->kind == WeightKind::kConcat && x->axis == axis) return slice_of_join(*x, begin, end);
  graph::Shape shape = x->shape;
  shape[as_index(axis)] = end - begin;
  return make(WeightKind::kSlice, std::move(shape), {x}, axis, begin);
}

Weights joined_weights(const std::vector<Weights>& parts, std::int64_t axis) {
  std::vector<Weights> flat;
  for (const Weights& part : parts) {
    if (part == nullptr) return nullptr;
    const bool nested = part->kind == WeightKind::kConcat && part->axis == axis;
    for (const Weights& piece : nested ? part->parts : std::vector<Weights>{part}) {
      const Weights both = flat.empty() ? nullptr : merged(flat.back(), piece, axis);
      if (both != nullptr) {
        flat.back() = both;
      } else {
        flat.push_back(piece);
      }
    }
  }
  if (flat.size() == 1) return flat.front();
  graph::Shape shape = flat.front()->shape;
  shape[as_index(axis)] = 0;
  for (const Weights& piece : flat) shape[as_index(axis)] += piece->shape[as_index(axis)];
  return make(WeightKind::kConcat, std::move(shape), std::move(flat), axis);
}

}  // namespace sluice::onnx

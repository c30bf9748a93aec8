#include "sluice/graph/autodiff/gradient_tape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {

// Whether slices sorted by their beginnings follow one another from 0 to `extent` along one axis.
template <typename Slices>
bool cover(const Slices& sorted, const Shape& shape) {
  const std::int64_t axis = sorted.front().consumer.template as<PartAttributes>().axis;
  std::int64_t end = 0;
  for (const auto& slice : sorted) {
    const auto& part = slice.consumer.template as<PartAttributes>();
    if (part.axis != axis || part.begin != end) return false;
    end = part.end;
  }
  return end == shape[as_index(axis)];
}

// Whether a change of its inputs changes its results smoothly anywhere.
bool is_smooth(const Op& op) {
  if (op.kind == OpKind::kUnary) {
    const auto& [function, alpha, beta] = op.as<UnaryAttributes>();
    return !is_flat(function) && !(function == UnaryFunction::kPower && alpha == 0);
  }
  if (op.kind == OpKind::kBinary) return !is_comparison(op.as<BinaryAttributes>().function);
  return op.kind != OpKind::kCast;
}

}  // namespace

void GradientTape::begin_stage(std::span<const Op> ops, std::span<const TensorId> trained) {
  needed_.assign(forward_tensors_, false);
  totals_.assign(forward_tensors_, {});
  for (const TensorId id : trained) needed_[as_index(id)] = true;
  for (const Op& op : ops) {
    const bool any =
        is_smooth(op) && std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) { return needs(id); });
    for (const TensorId id : op.outputs) {
      if (!is_persistent(graph_.tensor(id).role)) needed_[as_index(id)] = any;
    }
  }
}

std::optional<TensorId> GradientTape::gradient(const Op& at, TensorId id) {
  if (!total(id).slices.empty()) join_slices(at, id);
  if (!total(id).products.empty()) join_products(at, id);
  return total(id).sum;
}

std::vector<TensorId> GradientTape::emit(const Op& forward, OpKind kind, const Attributes& attributes,
                                         std::vector<TensorId> inputs, const std::vector<Shape>& outputs) {
  Op op;
  op.name = distinct(forward.name + "." + std::string(to_string(kind)));
  op.kind = kind;
  op.attributes = attributes;
  op.inputs = std::move(inputs);
  op.layer = forward.layer;
  op.phase = Phase::kBackward;
  for (const Shape& shape : outputs) {
    Tensor tensor;
    tensor.name = op.outputs.empty() ? op.name : fmt::format("{}.{}", op.name, op.outputs.size());
    tensor.shape = shape;
    tensor.role = Role::kActivationGradient;
    op.outputs.push_back(graph_.add_tensor(std::move(tensor)));
  }
  return graph_.op(graph_.add_op(std::move(op))).outputs;
}

void GradientTape::name_after(TensorId gradient, TensorId of, const std::string& suffix) {
  const Tensor& source = graph_.tensor(of);
  Tensor& tensor = graph_.tensor(gradient);
  tensor.name = distinct(source.name + suffix);
  if (source.role == Role::kParameter) tensor.role = Role::kGradient;
}

void GradientTape::give(const Op& consumer, TensorId to, TensorId gradient) {
  name_after(gradient, to, ".grad");
  add(consumer, to, gradient, true);
}

void GradientTape::give_view(const Op& consumer, TensorId to, TensorId gradient) {
  name_after(gradient, to, ".grad");
  add(consumer, to, gradient, false);
}

void GradientTape::share(const Op& consumer, TensorId to, TensorId gradient) { add(consumer, to, gradient, false); }

void GradientTape::add(const Op& consumer, TensorId to, TensorId gradient, bool exclusive) {
  if (!needs(to)) return;
  if (!total(to).sum) {
    total(to).sum = gradient;
    total(to).exclusive = exclusive;
    return;
  }
  const TensorId sum = emit_one(consumer, OpKind::kAdd, {}, {*total(to).sum, gradient}, shape(to));
  name_after(sum, to, ".grad.sum");
  total(to).sum = sum;
  total(to).exclusive = true;
}

void GradientTape::give_slice(const Op& consumer, TensorId to, TensorId gradient) {
  if (needs(to)) total(to).slices.push_back({consumer, gradient});
}

// Slices that cover the whole become one concatenation; others are padded with zeros and added.
void GradientTape::join_slices(const Op& at, TensorId id) {
  std::vector<SliceGradient> slices = std::exchange(total(id).slices, {});
  std::stable_sort(slices.begin(), slices.end(), [](const SliceGradient& a, const SliceGradient& b) {
    return a.consumer.as<PartAttributes>().begin < b.consumer.as<PartAttributes>().begin;
  });
  if (cover(slices, shape(id))) {
    ConcatAttributes attributes;
    attributes.axis = slices.front().consumer.as<PartAttributes>().axis;
    std::vector<TensorId> parts;
    parts.reserve(slices.size());
    for (const SliceGradient& slice : slices) parts.push_back(slice.gradient);
    give(at, id, emit_one(at, OpKind::kConcat, attributes, std::move(parts), shape(id)));
    return;
  }
  for (const SliceGradient& slice : slices) {
    auto attributes = slice.consumer.as<PartAttributes>();
    attributes.shape = shape(id);
    give(at, id, emit_one(at, OpKind::kPad, attributes, {slice.gradient}, shape(id)));
  }
}

void GradientTape::give_product(TensorId to, TensorId x, TensorId dy) {
  if (needs(to)) total(to).products.push_back({x, dy});
}

TensorId GradientTape::join_rows(const Op& at, std::vector<TensorId> parts) {
  if (parts.size() == 1) return parts.front();
  Shape rows = shape(parts.front());
  rows.front() = 0;
  for (const TensorId part : parts) rows.front() += shape(part).front();
  return emit_one(at, OpKind::kConcat, {}, std::move(parts), rows);
}

// Weights used in several places (time steps): one product of the rows put together, not a sum of products.
void GradientTape::join_products(const Op& at, TensorId id) {
  std::vector<TensorId> x;
  std::vector<TensorId> dy;
  for (const Product& product : std::exchange(total(id).products, {})) {
    x.push_back(product.x);
    dy.push_back(product.dy);
  }
  const std::vector<TensorId> rows = {join_rows(at, std::move(x)), join_rows(at, std::move(dy))};
  if (accumulate(at, OpKind::kDenseBackwardWeights, {}, rows, {id})) return;
  give(at, id, emit_one(at, OpKind::kDenseBackwardWeights, {}, rows, shape(id)));
}

// Adds to the sums in place where nobody else holds them: no second buffer, no add op.
bool GradientTape::accumulate(const Op& forward, OpKind kind, const Attributes& attributes,
                              std::vector<TensorId> inputs, const std::vector<TensorId>& targets) {
  const bool possible =
      std::all_of(targets.begin(), targets.end(), [&](TensorId id) { return total(id).sum && total(id).exclusive; });
  if (!possible) return false;
  std::vector<TensorId> sums;
  sums.reserve(targets.size());
  for (const TensorId id : targets) sums.push_back(*total(id).sum);
  inputs.insert(inputs.end(), sums.begin(), sums.end());
  emit(forward, kind, attributes, std::move(inputs), {});
  Op& adding = graph_.op(graph_.op_count() - 1);
  adding.slice.accumulate = true;
  adding.outputs = std::move(sums);
  return true;
}

std::string GradientTape::distinct(const std::string& name) {
  const int count = ++names_[name];
  return count == 1 ? name : fmt::format("{}_{}", name, count);
}

}  // namespace sluice::graph

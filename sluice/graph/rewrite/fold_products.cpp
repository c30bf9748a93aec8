#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/rewrite/fold_rules.hpp"

namespace sluice::graph {
namespace {

using Permutation = std::vector<std::int64_t>;

Permutation identity(std::size_t rank) {
  Permutation axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Transposing by `first`, then by `second` (empty: not at all).
Permutation then(const Permutation& first, const Permutation& second) {
  Permutation both = second.empty() ? identity(first.size()) : second;
  for (std::int64_t& axis : both) axis = first[as_index(axis)];
  return both == identity(both.size()) ? Permutation{} : both;
}

// Products want the dimension whose elements are adjacent among the two that they work along.
bool adjacent_stay_inside(const Permutation& axes) {
  const auto rank = static_cast<std::ptrdiff_t>(axes.size());
  return rank < 2 || std::find(axes.begin(), axes.end() - 2, rank - 1) == axes.end() - 2;
}

bool is_factor(const Op& op) {
  if (op.kind != OpKind::kUnary) return false;
  const auto& [function, alpha, beta] = op.as<UnaryAttributes>();
  return function == UnaryFunction::kLinear && beta == 0;
}

// The op with input `x` read before it was transposed by `axes`.
std::optional<Op> with_permuted_input(Op op, TensorId y, TensorId x, const Permutation& axes) {
  if (op.kind != OpKind::kMatMul) return std::nullopt;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    if (op.inputs[side] != y) continue;
    auto& product = op.as<ProductAttributes>();
    Permutation& perm = side == 0 ? product.perm_a : product.perm_b;
    perm = then(axes, perm);
    if (!adjacent_stay_inside(perm)) return std::nullopt;
    op.inputs[side] = x;
  }
  return op;
}

// A factor on one side of a product or before a softmax is a factor of the whole.
bool factor_into_reader(GraphRewrite& graph, OpIndex index) {
  const Op factor = graph.op(index);
  const TensorId y = factor.outputs[0];
  const std::optional<OpIndex> reader = graph.only_reader(y);
  if (!reader || !graph.same_stage(index, *reader)) return false;
  Op op = graph.op(*reader);
  float* const whole = op.kind == OpKind::kMatMul    ? &op.as<ProductAttributes>().factor
                       : op.kind == OpKind::kSoftmax ? &op.as<SoftmaxAttributes>().factor
                                                     : nullptr;
  if (whole == nullptr) return false;
  for (TensorId& id : op.inputs) {
    if (id != y) continue;
    *whole *= factor.as<UnaryAttributes>().alpha;
    id = factor.inputs[0];
  }
  graph.replace(*reader, std::move(op));
  graph.remove(index);
  return true;
}

}  // namespace

// Into all products that read it, or into none: were it made anyway, reading it would be cheaper.
bool fold_transpose_into_products(GraphRewrite& graph, OpIndex index) {
  const Op transpose = graph.op(index);
  if (transpose.kind != OpKind::kTranspose || graph.tensor(transpose.outputs[0]).role == Role::kOutput) return false;
  const std::vector<OpIndex> readers = graph.readers(transpose.outputs[0]);
  std::vector<Op> products;
  for (const OpIndex reader : readers) {
    if (!graph.same_stage(index, reader)) return false;
    const auto product = with_permuted_input(graph.op(reader), transpose.outputs[0], transpose.inputs[0],
                                             transpose.as<TransposeAttributes>().axes);
    if (!product) return false;
    products.push_back(*product);
  }
  for (std::size_t i = 0; i < readers.size(); ++i) graph.replace(readers[i], std::move(products[i]));
  graph.remove(index);
  return true;
}

bool fold_transpose_of_product(GraphRewrite& graph, OpIndex index) {
  const Op transpose = graph.op(index);
  if (transpose.kind != OpKind::kTranspose) return false;
  const std::optional<OpIndex> above = graph.maker(transpose.inputs[0]);
  if (!above || graph.only_reader(transpose.inputs[0]) != index || !graph.same_stage(*above, index)) return false;
  Op product = graph.op(*above);
  if (product.kind != OpKind::kMatMul) return false;
  const Permutation& axes = transpose.as<TransposeAttributes>().axes;
  Permutation& perm = product.as<ProductAttributes>().perm_y;
  perm = then(perm.empty() ? identity(axes.size()) : perm, axes);
  const auto rank = std::ssize(axes);
  if (!perm.empty() && perm.back() < rank - 2) return false;
  product.outputs[0] = transpose.outputs[0];
  graph.remove(index);
  graph.replace(*above, std::move(product));
  return true;
}

bool fold_factor(GraphRewrite& graph, OpIndex index) {
  if (!is_factor(graph.op(index))) return false;
  if (factor_into_reader(graph, index)) return true;
  const Op factor = graph.op(index);
  const std::optional<OpIndex> above = graph.maker(factor.inputs[0]);
  if (!above || graph.only_reader(factor.inputs[0]) != index || !graph.same_stage(*above, index)) return false;
  Op product = graph.op(*above);
  if (product.kind != OpKind::kMatMul) return false;
  product.as<ProductAttributes>().factor *= factor.as<UnaryAttributes>().alpha;
  product.outputs[0] = factor.outputs[0];
  graph.remove(index);
  graph.replace(*above, std::move(product));
  return true;
}

}  // namespace sluice::graph

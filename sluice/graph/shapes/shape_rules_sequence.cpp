#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/shapes/shape_rule.hpp"

namespace sluice::graph {
namespace {

// Of the dimensions of `x`, how many come before a row of `features` elements; nothing where no row fits.
std::optional<std::size_t> leading_dimensions(const Shape& x, std::int64_t features) {
  std::int64_t row = 1;
  for (std::size_t i = x.size(); i-- > 0;) {
    row *= x[i];
    if (row == features) return i;
    if (row > features) break;
  }
  return std::nullopt;
}

}  // namespace

Result<Shape> permuted(const ShapeRule& rule, const Shape& shape, const std::vector<std::int64_t>& axes) {
  if (axes.empty()) return shape;
  std::vector<bool> taken(shape.size());
  Shape result;
  for (const std::int64_t axis : axes) {
    const auto slot = as_index(axis);
    if (axis < 0 || slot >= shape.size() || taken[slot]) break;
    taken[slot] = true;
    result.push_back(shape[slot]);
  }
  if (result.size() == shape.size() && axes.size() == shape.size()) return result;
  return rule.error(
      fmt::format("[{}] is not a permutation of the dimensions of {}", fmt::join(axes, ", "), to_string(shape)));
}

Result<Shapes> dense_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 3));
  SLUICE_RETURN_IF_ERROR(rule.expect_rank(1, 2, "weights [out, in]"));
  const Shape& x = rule.inputs[0];
  const Shape& weight = rule.inputs[1];
  const std::optional<std::size_t> leading = leading_dimensions(x, weight[1]);
  if (!leading) {
    return rule.error(fmt::format("expects an input with rows of {} elements for weights {}, got {}", weight[1],
                                  to_string(weight), to_string(x)));
  }
  if (rule.inputs.size() == 3) SLUICE_RETURN_IF_ERROR(rule.expect_shape("bias", rule.inputs[2], {weight[0]}));
  Shape y(x.begin(), iterator_at(x, *leading));
  y.push_back(weight[0]);
  return Shapes{std::move(y)};
}

Result<Shapes> matmul_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 2));
  SLUICE_ASSIGN(Shape a, permuted(rule, rule.inputs[0], rule.as<ProductAttributes>().perm_a));
  SLUICE_ASSIGN(const Shape b, permuted(rule, rule.inputs[1], rule.as<ProductAttributes>().perm_b));
  const std::size_t rank = a.size();
  const bool fit =
      rank >= 2 && b.size() == rank && a[rank - 1] == b[rank - 2] && std::equal(a.begin(), a.end() - 2, b.begin());
  if (!fit) {
    return rule.error(fmt::format("expects [..., M, K] and [..., K, N] with the same leading dimensions, got {} and {}",
                                  to_string(a), to_string(b)));
  }
  a.back() = b.back();
  SLUICE_ASSIGN(Shape y, permuted(rule, a, rule.as<ProductAttributes>().perm_y));
  return Shapes{std::move(y)};
}

Result<Shapes> embedding_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 2));
  SLUICE_RETURN_IF_ERROR(rule.expect_rank(1, 2, "weights [vocabulary, features]"));
  Shape y = rule.inputs[0];
  y.push_back(rule.inputs[1][1]);
  return Shapes{std::move(y)};
}

Result<Shapes> lstm_cell_shapes(const ShapeRule& rule) {
  const std::size_t inputs = rule.as<RecurrentAttributes>().state ? 4 : 1;
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(inputs, inputs));
  SLUICE_RETURN_IF_ERROR(rule.expect_rank(0, 2, "gates [B, 4H]"));
  const Shape& gates = rule.inputs[0];
  if (gates[1] % 4 != 0) return rule.error(fmt::format("expects gates [B, 4H], got {}", to_string(gates)));
  const Shape state = {gates[0], gates[1] / 4};
  if (rule.as<RecurrentAttributes>().state) {
    SLUICE_RETURN_IF_ERROR(rule.expect_shape("h", rule.inputs[1], state));
    SLUICE_RETURN_IF_ERROR(rule.expect_shape("c", rule.inputs[2], state));
    SLUICE_RETURN_IF_ERROR(rule.expect_shape("weights", rule.inputs[3], {gates[1], state[1]}));
  }
  return Shapes{state, state, gates};
}

Result<Shapes> softmax_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const Shape& x = rule.inputs[0];
  if (x.size() < (rule.as<SoftmaxAttributes>().causal ? 2U : 1U)) {
    return rule.error(
        fmt::format("expects scores [..., columns], causal ones [..., rows, columns], got {}", to_string(x)));
  }
  return Shapes{x};
}

}  // namespace sluice::graph

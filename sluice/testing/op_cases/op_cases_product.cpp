#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

using Axes = std::vector<std::int64_t>;

struct DenseLayer {
  graph::Shape x;
  std::int64_t in, out, slice;  // computed in slices of `slice` output features
  bool bias = false;
};

// x with the run of last dimensions that has `in` elements replaced by `out`.
graph::Shape rows_of(const DenseLayer& layer) {
  graph::Shape shape = layer.x;
  for (std::int64_t run = 1; run < layer.in; shape.pop_back()) run *= shape.back();
  shape.push_back(layer.out);
  return shape;
}

OpCase dense_case(const DenseLayer& layer) {
  CaseBuilder builder("dense " + graph::to_string(layer.x) + " to " + std::to_string(layer.out) + " by " +
                      std::to_string(layer.slice) + (layer.bias ? " bias" : ""));
  const graph::Shape y_shape = rows_of(layer);
  const graph::TensorId x = builder.tensor("x", layer.x);
  const graph::TensorId y = builder.tensor("y", y_shape);
  const graph::TensorId dy = builder.gradient("dy", y_shape);
  const graph::TensorId dx = builder.gradient("dx", layer.x);
  for (std::int64_t begin = 0; begin < layer.out; begin += layer.slice) {
    const std::int64_t count = std::min(layer.slice, layer.out - begin);
    const std::string suffix = std::to_string(begin);
    graph::Slice share;
    if (layer.slice < layer.out) share = {.begin = begin, .end = begin + count, .partial = begin > 0};
    const graph::TensorId w = builder.parameter("w" + suffix, {count, layer.in});
    std::vector<graph::TensorId> inputs{x, w};
    if (layer.bias) inputs.push_back(builder.parameter("bias" + suffix, {count}));
    if (share.partial) inputs.push_back(y);
    builder.op_of_slice(graph::OpKind::kDense, share, inputs, {y});
    std::vector<graph::TensorId> backward_inputs{dy, w};
    if (share.partial) backward_inputs.push_back(dx);
    builder.op_of_slice(graph::OpKind::kDenseBackwardData, share, backward_inputs, {dx});
    std::vector<graph::TensorId> outputs{builder.parameter_gradient("dw" + suffix, {count, layer.in})};
    if (layer.bias) outputs.push_back(builder.parameter_gradient("dbias" + suffix, {count}));
    share.partial = false;
    builder.op_of_slice(graph::OpKind::kDenseBackwardWeights, share, {x, dy}, outputs);
    builder.claim({"y", "dy", "w" + suffix, "dw" + suffix});
    if (layer.bias) builder.claim({"y", "dy", "bias" + suffix, "dbias" + suffix});
  }
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

// One layer used twice: the second gradient of its weights is added to the first.
OpCase shared_dense_case(const graph::Shape& x_shape, std::int64_t out, bool bias) {
  CaseBuilder builder("dense used twice " + graph::to_string(x_shape) + " to " + std::to_string(out) +
                      (bias ? " bias" : ""));
  const std::int64_t in = x_shape.back();
  const graph::Shape y_shape = rows_of({x_shape, in, out, out});
  const graph::TensorId w = builder.parameter("w", {out, in});
  const graph::TensorId dw = builder.parameter_gradient("dw", {out, in});
  const graph::TensorId bias_id = bias ? builder.parameter("bias", {out}) : -1;
  const graph::TensorId dbias = bias ? builder.parameter_gradient("dbias", {out}) : -1;
  const graph::TensorId dy = builder.gradient("dy", y_shape);
  std::vector<graph::TensorId> results;
  for (const char* use : {"1", "2"}) {
    const graph::TensorId x = builder.tensor(std::string("x") + use, x_shape);
    results.push_back(builder.tensor(std::string("y") + use, y_shape));
    std::vector<graph::TensorId> inputs{x, w}, gradients{dw}, backward_inputs{x, dy};
    const bool accumulate = results.size() == 2;
    if (bias) inputs.push_back(bias_id), gradients.push_back(dbias);
    if (accumulate) backward_inputs.insert(backward_inputs.end(), gradients.begin(), gradients.end());
    builder.op(graph::OpKind::kDense, {}, inputs, {results.back()});
    builder.op_of_slice(graph::OpKind::kDenseBackwardWeights, {.accumulate = accumulate}, backward_inputs, gradients);
  }
  builder.op(graph::OpKind::kAdd, {}, results, {builder.tensor("y", y_shape)});
  builder.claim({"y", "dy", "w", "dw"});
  if (bias) builder.claim({"y", "dy", "bias", "dbias"});
  return builder.finish();
}

Axes inverse(const Axes& axes) {
  Axes result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) result[as_index(axes[i])] = as_id<std::int64_t>(i);
  return result;
}

Axes with_last_swapped(Axes axes, std::size_t rank) {
  for (std::size_t i = axes.size(); i < rank; ++i) axes.push_back(as_id<std::int64_t>(i));
  std::swap(axes[rank - 1], axes[rank - 2]);
  return axes;
}

graph::Shape permuted(const graph::Shape& shape, const Axes& axes) {
  graph::Shape result = shape;
  for (std::size_t i = 0; i < axes.size(); ++i) result[i] = shape[as_index(axes[i])];
  return result;
}

struct Product {
  std::string what;
  graph::Shape a, b;
  Axes perm_a, perm_b, perm_y;
  float alpha = 1;
};

// The product, and both gradients as products with the permutations turned round.
OpCase matmul_case(const Product& p) {
  CaseBuilder builder("matmul " + p.what + " " + graph::to_string(p.a) + " by " + graph::to_string(p.b));
  graph::Shape product = permuted(p.a, p.perm_a);
  product.back() = permuted(p.b, p.perm_b).back();
  const graph::Shape y_shape = permuted(product, p.perm_y);
  const graph::TensorId a = builder.tensor("a", p.a);
  const graph::TensorId b = builder.tensor("b", p.b);
  const graph::TensorId dy = builder.gradient("dy", y_shape);
  const std::size_t rank = p.a.size();
  builder.op(graph::OpKind::kMatMul,
             graph::ProductAttributes{.perm_a = p.perm_a, .perm_b = p.perm_b, .perm_y = p.perm_y, .factor = p.alpha},
             {a, b}, {builder.tensor("y", y_shape)});
  builder.op(graph::OpKind::kMatMul,
             graph::ProductAttributes{.perm_a = inverse(p.perm_y),
                                      .perm_b = with_last_swapped(p.perm_b, rank),
                                      .perm_y = inverse(p.perm_a),
                                      .factor = p.alpha},
             {dy, b}, {builder.gradient("da", p.a)});
  builder.op(graph::OpKind::kMatMul,
             graph::ProductAttributes{.perm_a = with_last_swapped(p.perm_a, rank),
                                      .perm_b = inverse(p.perm_y),
                                      .perm_y = inverse(p.perm_b),
                                      .factor = p.alpha},
             {a, dy}, {builder.gradient("db", p.b)});
  builder.claim({"y", "dy", "a", "da"});
  builder.claim({"y", "dy", "b", "db"});
  return builder.finish();
}

const std::vector<Product> kProducts = {
    {"plain", {5, 7}, {7, 6}, {}, {}, {}},
    {"scaled", {2, 5, 16}, {2, 16, 6}, {}, {}, {}, 0.5F},
    {"batches", {2, 3, 4, 10}, {2, 3, 10, 6}, {}, {}, {}},
    {"transposed a", {2, 9, 5}, {2, 9, 6}, {0, 2, 1}, {}, {}},
    {"transposed b", {2, 5, 9}, {2, 6, 9}, {}, {0, 2, 1}, {}},
    {"transposed y", {4, 8}, {8, 6}, {}, {}, {1, 0}},
    {"scores of attention", {2, 5, 3, 8}, {2, 5, 3, 8}, {0, 2, 1, 3}, {0, 2, 3, 1}, {}, 0.35F},
    {"values of attention", {2, 3, 5, 5}, {2, 5, 3, 8}, {}, {0, 2, 1, 3}, {0, 2, 1, 3}},
    {"attention over two lengths", {2, 6, 2, 16}, {2, 4, 2, 16}, {0, 2, 1, 3}, {0, 2, 3, 1}, {}, 0.25F},
};

}  // namespace

void add_product_cases(std::vector<OpCase>& cases) {
  for (const bool bias : {false, true}) {
    cases.push_back(dense_case({{4, 24}, 24, 10, 10, bias}));
    cases.push_back(dense_case({{4, 24}, 24, 40, 16, bias}));
    cases.push_back(dense_case({{4, 16, 3, 3}, 144, 20, 20, bias}));
    cases.push_back(dense_case({{1, 10, 2, 2}, 40, 33, 16, bias}));
    cases.push_back(dense_case({{4, 32, 2, 2}, 128, 48, 16, bias}));
    cases.push_back(dense_case({{2, 5, 24}, 24, 16, 16, bias}));
    cases.push_back(dense_case({{3, 4, 32}, 32, 50, 20, bias}));
    cases.push_back(dense_case({{2, 3, 4, 8}, 32, 10, 10, bias}));
    cases.push_back(shared_dense_case({4, 24}, 10, bias));
    cases.push_back(shared_dense_case({2, 5, 16}, 48, bias));
  }
  for (const Product& product : kProducts) cases.push_back(matmul_case(product));
}

}  // namespace sluice::testing

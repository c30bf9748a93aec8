#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

std::string_view name_of(graph::Activation activation) {
  return activation == graph::Activation::kNone ? "" : activation == graph::Activation::kRelu ? " relu" : " relu6";
}

// Parts of these extents along `axis` of `whole`; each part's gradient is a slice.
OpCase concat_case(const graph::Shape& whole, std::size_t axis, const std::vector<std::int64_t>& extents,
                   graph::Activation activation = graph::Activation::kNone) {
  CaseBuilder builder("concat " + graph::to_string(whole) + " axis " + std::to_string(axis) + " of " +
                      graph::to_string(extents) + std::string(name_of(activation)));
  std::vector<graph::TensorId> parts;
  for (const std::int64_t extent : extents) {
    graph::Shape shape = whole;
    shape[axis] = extent;
    parts.push_back(builder.scaled(builder.tensor(fmt::format("x{}", parts.size()), shape), 4));
  }
  const auto axis_attribute = as_id<std::int64_t>(axis);
  const graph::TensorId y = builder.tensor("y", whole);
  builder.op(graph::OpKind::kConcat, graph::ConcatAttributes{.axis = axis_attribute, .activation = activation}, parts,
             {y});
  graph::TensorId dy = builder.gradient("dy", whole);
  if (activation == graph::Activation::kRelu) {
    const graph::TensorId inner = builder.gradient("dy_inner", whole);
    builder.op(graph::OpKind::kReluBackward, {}, {y, dy}, {inner});
    dy = inner;
  }
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string suffix = std::to_string(i);
    builder.op(graph::OpKind::kSlice,
               graph::PartAttributes{.axis = axis_attribute, .begin = begin, .end = begin + extents[i]}, {dy},
               {builder.gradient("dx" + suffix, builder.shape(parts[i]))});
    begin += extents[i];
    if (activation != graph::Activation::kRelu6) builder.claim({"y", "dy", "x" + suffix, "dx" + suffix});
  }
  return builder.finish();
}

OpCase slice_case(const graph::Shape& x_shape, std::size_t axis, std::int64_t begin, std::int64_t end) {
  CaseBuilder builder("slice " + graph::to_string(x_shape) + " axis " + std::to_string(axis) + " from " +
                      std::to_string(begin) + " to " + std::to_string(end));
  const graph::PartAttributes attributes{.axis = as_id<std::int64_t>(axis), .begin = begin, .end = end};
  graph::Shape y_shape = x_shape;
  y_shape[axis] = end - begin;
  builder.op(graph::OpKind::kSlice, attributes, {builder.tensor("x", x_shape)}, {builder.tensor("y", y_shape)});
  graph::PartAttributes padding = attributes;
  padding.shape = x_shape;
  builder.op(graph::OpKind::kPad, padding, {builder.gradient("dy", y_shape)}, {builder.gradient("dx", x_shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

// Each row of the matrix mixes a few neighbours; the last is empty.
graph::SparseMatrix band(std::int64_t rows, std::int64_t columns) {
  graph::SparseMatrix matrix;
  matrix.columns = columns;
  for (std::int64_t row = 0; row + 1 < rows; ++row) {
    for (std::int64_t term = 0; term <= row % 3; ++term) {
      matrix.add_term((2 * row + 5 * term) % columns, 0.5F + 0.25F * static_cast<float>(term));
    }
    matrix.end_row();
  }
  matrix.end_row();
  return matrix;
}

OpCase sparse_product_case(const graph::Shape& x_shape, std::size_t axis, std::int64_t rows) {
  CaseBuilder builder(fmt::format("sparse product {} axis {} to {}", graph::to_string(x_shape), axis, rows));
  graph::SparseAttributes attributes{.axis = as_id<std::int64_t>(axis), .matrix = band(rows, x_shape[axis])};
  graph::Shape y_shape = x_shape;
  y_shape[axis] = rows;
  builder.op(graph::OpKind::kSparseProduct, attributes, {builder.tensor("x", x_shape)}, {builder.tensor("y", y_shape)});
  attributes.matrix = graph::transposed(*attributes.matrix);
  builder.op(graph::OpKind::kSparseProduct, attributes, {builder.gradient("dy", y_shape)},
             {builder.gradient("dx", x_shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

OpCase transpose_case(const graph::Shape& x_shape, const std::vector<std::int64_t>& axes) {
  CaseBuilder builder("transpose " + graph::to_string(x_shape) + " to " + graph::to_string(axes));
  graph::Shape y_shape;
  std::vector<std::int64_t> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    y_shape.push_back(x_shape[as_index(axes[i])]);
    back[as_index(axes[i])] = as_id<std::int64_t>(i);
  }
  builder.op(graph::OpKind::kTranspose, graph::TransposeAttributes{.axes = axes}, {builder.tensor("x", x_shape)},
             {builder.tensor("y", y_shape)});
  builder.op(graph::OpKind::kTranspose, graph::TransposeAttributes{.axes = back}, {builder.gradient("dy", y_shape)},
             {builder.gradient("dx", x_shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

// A view between two ops, as between a convolution network and its dense layer.
OpCase reshape_case(const graph::Shape& x_shape, const graph::Shape& view_shape) {
  CaseBuilder builder("relu of " + graph::to_string(x_shape) + " seen as " + graph::to_string(view_shape));
  const graph::TensorId inner = builder.tensor("inner", x_shape);
  const graph::TensorId view = builder.tensor("view", view_shape);
  builder.op(graph::OpKind::kRelu, {}, {builder.tensor("x", x_shape)}, {inner});
  builder.op(graph::OpKind::kReshape, graph::ShapeAttributes{.shape = view_shape}, {inner}, {view});
  builder.op(graph::OpKind::kUnary, graph::UnaryAttributes{.function = graph::UnaryFunction::kTanh}, {view},
             {builder.tensor("y", view_shape)});
  return builder.finish();
}

// A batch copied out and back in two parts.
OpCase batch_case(const graph::Shape& shape) {
  CaseBuilder builder("samples of " + graph::to_string(shape));
  const graph::TensorId x = builder.tensor("x", shape);
  const graph::TensorId y = builder.tensor("y", shape);
  const std::int64_t half = shape[0] / 2;
  for (const std::int64_t begin : {std::int64_t{0}, half}) {
    graph::Slice share{.begin = begin, .end = begin == 0 ? half : shape[0]};
    graph::Shape part_shape = shape;
    part_shape[0] = share.end - begin;
    const graph::TensorId part = builder.tensor("part" + std::to_string(begin), part_shape);
    builder.op_of_slice(graph::OpKind::kSliceBatch, share, {x}, {part});
    share.partial = begin > 0;
    std::vector<graph::TensorId> inputs{part};
    if (share.partial) inputs.push_back(y);
    builder.op_of_slice(graph::OpKind::kPlaceBatch, share, inputs, {y});
  }
  return builder.finish();
}

OpCase integer_case(const graph::Shape& shape) {
  CaseBuilder builder("integers as fp32 " + graph::to_string(shape));
  builder.op(graph::OpKind::kCast, {}, {builder.integers("ids", shape, 1000)}, {builder.tensor("y", shape)});
  return builder.finish();
}

OpCase cast_case(const graph::Shape& shape, graph::DType half) {
  CaseBuilder builder("cast to " + std::string(to_string(half)) + " and back " + graph::to_string(shape));
  const graph::TensorId rounded = builder.tensor("rounded", shape, graph::Role::kActivation, half);
  builder.op(graph::OpKind::kCast, {}, {builder.tensor("x", shape)}, {rounded});
  builder.op(graph::OpKind::kCast, {}, {rounded}, {builder.tensor("y", shape)});
  return builder.finish();
}

void add_concat_cases(std::vector<OpCase>& cases) {
  for (const graph::Activation activation :
       {graph::Activation::kNone, graph::Activation::kRelu, graph::Activation::kRelu6}) {
    cases.push_back(concat_case({2, 64, 5, 5}, 1, {16, 32, 16}, activation));
    cases.push_back(concat_case({2, 29, 4, 3}, 1, {16, 3, 10}, activation));
  }
  cases.push_back(concat_case({2, 40, 5, 5}, 1, {32, 8}));
  cases.push_back(concat_case({5, 16, 3, 3}, 0, {2, 3}));
  cases.push_back(concat_case({2, 16, 7, 3}, 2, {3, 4}));
  cases.push_back(concat_case({2, 10, 3, 9}, 3, {4, 5}));
  cases.push_back(concat_case({3, 4, 10}, 0, {1, 1, 1}));
  cases.push_back(concat_case({3, 7, 10}, 1, {2, 5}));
  cases.push_back(concat_case({3, 48}, 1, {16, 16, 16}));
  cases.push_back(concat_case({9, 20}, 0, {3, 3, 3}));
}

}  // namespace

void add_movement_cases(std::vector<OpCase>& cases) {
  add_concat_cases(cases);
  cases.push_back(slice_case({2, 48, 4, 4}, 1, 16, 32));
  cases.push_back(slice_case({2, 30, 4, 4}, 1, 7, 20));
  cases.push_back(slice_case({5, 16, 3, 3}, 0, 1, 4));
  cases.push_back(slice_case({2, 16, 6, 5}, 2, 2, 5));
  cases.push_back(slice_case({2, 10, 3, 6}, 3, 0, 4));
  cases.push_back(slice_case({4, 3, 40}, 0, 2, 3));
  cases.push_back(slice_case({2, 3, 60}, 2, 20, 40));
  cases.push_back(slice_case({2, 7, 9}, 1, 0, 1));
  cases.push_back(sparse_product_case({3, 7}, 1, 9));
  cases.push_back(sparse_product_case({6, 5}, 0, 4));
  cases.push_back(sparse_product_case({2, 16, 6, 5}, 2, 11));
  cases.push_back(sparse_product_case({2, 16, 6, 5}, 1, 8));
  cases.push_back(sparse_product_case({9}, 0, 5));
  cases.push_back(sparse_product_case({2, 3, 300}, 1, 7));
  cases.push_back(integer_case({3, 7}));
  cases.push_back(transpose_case({3, 5}, {1, 0}));
  cases.push_back(transpose_case({3, 4, 20}, {1, 0, 2}));
  cases.push_back(transpose_case({2, 5, 3, 16}, {0, 2, 1, 3}));
  cases.push_back(transpose_case({2, 5, 3, 4}, {0, 2, 3, 1}));
  cases.push_back(transpose_case({2, 3, 8, 4, 4}, {0, 2, 1, 3, 4}));
  cases.push_back(transpose_case({2, 32, 4, 4}, {0, 2, 3, 1}));
  cases.push_back(reshape_case({4, 16, 3, 3}, {4, 144}));
  cases.push_back(reshape_case({2, 6, 8}, {2, 6, 2, 4}));
  cases.push_back(batch_case({4, 16, 3, 3}));
  cases.push_back(batch_case({5, 10, 3}));
  for (const graph::DType half : {graph::DType::kBF16, graph::DType::kF16}) {
    cases.push_back(cast_case({3, 50}, half));
    cases.push_back(cast_case({2, 16, 3, 3}, half));
  }
}

}  // namespace sluice::testing

// What the shape rules of single kinds share: one op's inputs, and checks whose errors name the op. Internal to
// shape_rules*.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice {

struct ShapeRule {
  OpKind kind;
  const Attributes& attributes;
  std::span<const Shape> inputs;

  Error error(const std::string& detail) const;
  // Checks the number of inputs, and that all their extents are at least 1.
  Status expect_inputs(std::size_t at_least, std::size_t at_most) const;
  Status expect_rank(std::size_t input, std::size_t rank, std::string_view form) const;  // form: "[N, C, H, W]"
  Status expect_image(std::size_t input) const { return expect_rank(input, 4, "[N, C, H, W]"); }
  Status expect_shape(std::string_view what, const Shape& got, const Shape& expected) const;
  // `axis` is a dimension of input 0.
  Status expect_axis(std::int64_t axis) const;
};

// The shape whose dimension i is the old dimension axes[i]. Without axes the shape stays as it is.
Result<Shape> permuted(const ShapeRule& rule, const Shape& shape, const std::vector<std::int64_t>& axes);

// By family; the op's kind selects the rule within it.
Result<Shapes> convolution_shapes(const ShapeRule& rule);  // kConv2d, kConvTranspose2d
Result<Shapes> pool_shapes(const ShapeRule& rule);         // kMaxPool, kAvgPool

Result<Shapes> batch_norm_shapes(const ShapeRule& rule);           // kBatchNorm, kBatchNormApply
Result<Shapes> batch_norm_part_shapes(const ShapeRule& rule);      // the other parts, backward too
Result<Shapes> layer_norm_shapes(const ShapeRule& rule);           // kLayerNorm
Result<Shapes> local_response_norm_shapes(const ShapeRule& rule);  // kLocalResponseNorm

Result<Shapes> binary_shapes(const ShapeRule& rule);          // kBinary
Result<Shapes> select_shapes(const ShapeRule& rule);          // kSelect
Result<Shapes> reduce_shapes(const ShapeRule& rule);          // kReduce
Result<Shapes> broadcast_shapes(const ShapeRule& rule);       // kBroadcast
Result<Shapes> reshape_shapes(const ShapeRule& rule);         // kReshape
Result<Shapes> transpose_shapes(const ShapeRule& rule);       // kTranspose
Result<Shapes> concat_shapes(const ShapeRule& rule);          // kConcat
Result<Shapes> slice_shapes(const ShapeRule& rule);           // kSlice
Result<Shapes> pad_shapes(const ShapeRule& rule);             // kPad
Result<Shapes> sparse_product_shapes(const ShapeRule& rule);  // kSparseProduct

Result<Shapes> dense_shapes(const ShapeRule& rule);      // kDense
Result<Shapes> matmul_shapes(const ShapeRule& rule);     // kMatMul
Result<Shapes> embedding_shapes(const ShapeRule& rule);  // kEmbedding
Result<Shapes> lstm_cell_shapes(const ShapeRule& rule);  // kLstmCell
Result<Shapes> softmax_shapes(const ShapeRule& rule);    // kSoftmax

}  // namespace sluice

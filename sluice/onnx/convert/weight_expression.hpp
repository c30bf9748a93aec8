// How a parameter of the graph is made from initializers of the file, in both directions.
//
// Exporters store weights in another form than the ops of op.hpp take them: a dense weight transposed, batch-norm scale
// and shift apart, LSTM gates in another order and cut into pieces that Slice and Concat join. An expression over
// initializers says what a parameter is; evaluated forwards it gives initial values, backwards it writes trained values
// into the initializers they came from.
//
// Expressions are simplified as they are built, so that equal parameters have equal text() and pieces that fit together
// again become the initializer itself. Immutable, shared; safe from several threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice::onnx {

struct WeightExpression;
using Weights = std::shared_ptr<const WeightExpression>;

struct WeightExpression {
  enum class Kind { kInitializer, kLiteral, kTranspose, kReshape, kSlice, kConcat } kind = Kind::kInitializer;
  graph::Shape shape;
  std::string name;                // kInitializer
  std::vector<float> values;       // kLiteral: of the file's constants; never written back
  std::vector<std::int64_t> axes;  // kTranspose
  std::int64_t axis = 0;           // kSlice, kConcat
  std::int64_t begin = 0;          // kSlice
  std::vector<Weights> parts;      // operands
  int size = 1;                    // nodes of the tree

  std::string text() const;
  void collect_initializers(std::set<std::string>& names) const;
};

inline constexpr int kMostExpressionNodes = 4096;

// Shapes and ranges are the caller's to check. Slices are of one axis. An expression of more than kMostExpressionNodes
// is null.
Weights initializer_weights(std::string name, graph::Shape shape);
Weights literal_weights(std::vector<float> values, graph::Shape shape);
Weights transposed_weights(const Weights& x, std::vector<std::int64_t> axes);
Weights reshaped_weights(const Weights& x, graph::Shape shape);
Weights sliced_weights(const Weights& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
Weights joined_weights(const std::vector<Weights>& parts, std::int64_t axis);

// Elements [first, first + values.size()) of an initializer.
using ReadInitializer = std::function<Status(const std::string& name, std::int64_t first, std::span<float> values)>;

// Elements [first, first + values.size()) of the parameter; part of an initializer is read without the rest.
Status evaluate_weights(const WeightExpression& expression, const ReadInitializer& read, std::int64_t first,
                        std::span<float> values);

// Whole initializers by name, which write_back_weights changes.
using InitializerValues = std::map<std::string, std::vector<float>>;

// Makes `values` the value of the expression.
void write_back_weights(const WeightExpression& expression, std::vector<float> values, InitializerValues& initializers);

}  // namespace sluice::onnx

// Builds a forward graph op by op: infers shapes, creates parameters with their initial values, groups ops in layers.
//
//   GraphBuilder builder("tiny");
//   builder.begin_layer("input");
//   TensorId x = builder.input(8, 3, 32, 32);
//   builder.begin_layer("conv1");
//   x = builder.batch_norm(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1}), true);
//   builder.begin_layer("fc");
//   builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 10));
//   Result<Graph> graph = builder.finish();
//
// Errors are kept: the first wrong shape makes every later call a no-op, and finish() returns it with the layer's name.
// Names follow the layer: "conv1.weight", "conv1.bias", "conv1.bn.scale_shift", "conv1.bn.running"; a second op of
// one kind in a layer gets "_2". Weights start as He et al. 2015: normal with variance 2 / fan_in; weight_init()
// chooses another distribution. Biases start at zero. Importers name parameters themselves (named_parameter) and build
// any op through add().
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

struct Conv2dOptions {
  std::int64_t out_channels = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  bool bias = false;
  std::int64_t groups = 1;
  std::int64_t kernel_w = 0;    // 0: as `kernel`
  std::int64_t padding_w = -1;  // -1: as `padding`
  Activation activation = Activation::kNone;
};

struct PoolOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
  bool count_padding = true;  // average pooling only
};

// One tensor of the step's data.
struct InputSpec {
  std::string name;  // "images"
  Content content = Content::kNone;
  Shape shape;
  std::int64_t bound = 0;  // classes, vocabulary
};

struct LstmState {
  TensorId h = -1, c = -1;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }

  void begin_layer(std::string name);
  // Ends a stage: all ops since the last stage are differentiated, and the parameters whose names begin with this
  // prefix are updated, before what follows runs (Graph::stages).
  void end_stage(std::string_view trained_prefix);
  // Weights made from here on: normal with this standard deviation; nothing: He et al. again.
  void weight_init(std::optional<float> stddev) { stddev_ = stddev; }

  // The step's data: one op, the first of the graph. Its tensors in the order of `specs`.
  std::vector<TensorId> inputs(const std::vector<InputSpec>& specs);
  // Images [N, C, H, W] (returned) and labels [N] of `classes`.
  TensorId input(std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width,
                 std::int64_t classes);

  TensorId conv2d(TensorId x, const Conv2dOptions& options);
  TensorId conv_transpose2d(TensorId x, const Conv2dOptions& options);
  // running = 0.9 * running + 0.1 * batch statistics; epsilon 1e-5 unless given.
  TensorId batch_norm(TensorId x, Activation activation = Activation::kNone, float epsilon = 1e-5F);
  TensorId layer_norm(TensorId x, float epsilon = 1e-5F);
  TensorId local_response_norm(TensorId x, std::int64_t size, float alpha, float beta, float bias);
  TensorId relu(TensorId x);
  TensorId unary(TensorId x, UnaryFunction function, float alpha = 0, float beta = 0);
  TensorId gelu(TensorId x) { return unary(x, UnaryFunction::kGelu); }
  TensorId add(TensorId a, TensorId b, Activation activation = Activation::kNone);
  TensorId binary(TensorId a, TensorId b, BinaryFunction function);
  TensorId select(TensorId condition, TensorId a, TensorId b);
  TensorId reduce(TensorId x, ReduceFunction function, std::vector<std::int64_t> axes);
  TensorId reshape(TensorId x, Shape shape);
  TensorId transpose(TensorId x, std::vector<std::int64_t> axes);
  TensorId concat(const std::vector<TensorId>& parts, std::int64_t axis);
  TensorId slice(TensorId x, std::int64_t axis, std::int64_t begin, std::int64_t end);
  TensorId sparse_product(TensorId x, std::int64_t axis, SparseMatrix matrix);
  TensorId to_float(TensorId ids);  // integers as fp32, exact below 2^24
  TensorId max_pool(TensorId x, const PoolOptions& options);
  TensorId avg_pool(TensorId x, const PoolOptions& options);
  TensorId global_avg_pool(TensorId x);                                     // [N, C, 1, 1]
  TensorId dense(TensorId x, std::int64_t out_features, bool bias = true);  // x as rows (op.hpp)
  // A dense op without bias on a weight that exists: an embedding's, for tied output layers.
  TensorId dense_with(TensorId x, TensorId weight);
  TensorId matmul(TensorId a, TensorId b, float alpha = 1);
  TensorId softmax(TensorId x, float scale = 1, bool causal = false);  // along the last dimension, of scale * x
  TensorId dropout(TensorId x, float rate);                            // x itself when the rate is 0
  TensorId embedding(TensorId ids, std::int64_t vocabulary, std::int64_t features);
  TensorId embedding_with(TensorId ids, TensorId weight);
  // x [T, B, in] through one LSTM layer, unrolled: a projection of all steps, then one cell op per step; [T, B,
  // hidden]. Parameters as PyTorch's, but with its two biases as one.
  TensorId lstm(TensorId x, std::int64_t hidden);

  // Mean over the batch (over all labels that are not -1).
  TensorId softmax_cross_entropy(TensorId logits);  // against the input op's labels
  TensorId softmax_cross_entropy(TensorId logits, TensorId labels);
  TensorId sigmoid_cross_entropy(TensorId logits, float target);
  TensorId mean_loss(TensorId x);  // whatever made x is part of the loss

  // For importers. A parameter (or buffer) with a name of its own; any forward op of one result by op_table.hpp.
  // `part`: of a parameter that is some rows of what other graphs of the model may have more of.
  TensorId named_parameter(const std::string& name, Shape shape, Init init, Role role = Role::kParameter,
                           TensorPart part = {});
  TensorId add(OpKind kind, const Attributes& attributes, const std::vector<TensorId>& inputs);
  // One step of an LSTM layer; without an earlier state (ids of -1) the weight is not needed.
  LstmState lstm_cell(TensorId gates, const LstmState& earlier, TensorId weight);
  const Shape& shape(TensorId id) const { return graph_.tensor(id).shape; }
  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }
  bool failed() const { return error_.has_value(); }

  Result<Graph> finish();
  Result<Graph> finish_without_loss();  // to be run forward only

 private:
  bool usable(std::initializer_list<TensorId> inputs) const;
  void fail(const std::string& message);
  // The first use of a name as it is, later ones with "_2", "_3", ...
  std::string distinct(const std::string& name);
  std::string unique_name(const std::string& suffix);
  TensorId add_parameter(const std::string& suffix, Shape shape, Init init, Role role = Role::kParameter);
  TensorId new_parameter(std::string name, Shape shape, Init init, Role role = Role::kParameter);
  TensorId add_weight(const std::string& name, Shape shape, std::int64_t fan_in);
  // Infers the output shapes, adds the outputs and the op; returns the first output.
  TensorId add_op(OpKind kind, const Attributes& attributes, std::vector<TensorId> inputs);

  Graph graph_;
  std::optional<TensorId> labels_;
  std::optional<float> stddev_;
  bool has_loss_ = false;  // since the last stage
  std::map<std::string, int> names_;
  std::optional<Error> error_;
};

}  // namespace sluice::graph

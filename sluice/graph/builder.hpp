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
// one kind in a layer gets "_2". Weights start as He et al. 2015: normal with variance 2 / fan_in; biases at zero.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice {

struct Conv2dOptions {
  std::int64_t out_channels = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  bool bias = false;
};

struct MaxPoolOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }

  void begin_layer(std::string name);

  // One op with the step's images [N, C, H, W] (returned) and labels [N].
  TensorId input(std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width);
  TensorId conv2d(TensorId x, const Conv2dOptions& options);
  // running = 0.9 * running + 0.1 * batch statistics; epsilon 1e-5.
  TensorId batch_norm(TensorId x, bool relu = false);
  TensorId relu(TensorId x);
  TensorId add(TensorId a, TensorId b, bool relu = false);
  TensorId max_pool(TensorId x, const MaxPoolOptions& options);
  TensorId global_avg_pool(TensorId x);                                     // [N, C, 1, 1]
  TensorId dense(TensorId x, std::int64_t out_features, bool bias = true);  // reads an image tensor as [N, C*H*W]
  TensorId softmax_cross_entropy(TensorId logits);                          // mean over the batch; the last op

  Result<Graph> finish();

 private:
  struct Output {
    std::string name;
    DType dtype = DType::kF32;
    Role role = Role::kActivation;
  };

  bool usable(std::initializer_list<TensorId> inputs) const;
  void fail(const std::string& message);
  std::string unique_name(const std::string& suffix);
  TensorId add_parameter(const std::string& suffix, Shape shape, Init init, Role role = Role::kParameter);
  TensorId add_weight(const std::string& name, Shape shape, std::int64_t fan_in);
  // Infers the output shapes, adds the outputs and the op; returns the first output.
  TensorId add_op(Op op, const std::vector<Output>& outputs);

  Graph graph_;
  std::optional<TensorId> labels_;
  bool has_loss_ = false;
  std::map<std::string, int> names_;
  std::optional<Error> error_;
};

}  // namespace sluice

#include "sluice/testing/small_networks.hpp"

#include <cmath>

#include "sluice/base/random.hpp"
#include "sluice/graph/builder/builder.hpp"

namespace sluice::testing {
namespace {

constexpr std::int64_t kClasses = 5;
constexpr std::int64_t kVocabulary = 11;

void classify(graph::GraphBuilder& builder, graph::TensorId x) {
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), kClasses));
}

graph::TensorId images(graph::GraphBuilder& builder, std::int64_t size) {
  builder.begin_layer("input");
  return builder.input(4, 3, size, size, kClasses);
}

graph::TensorId conv_norm(graph::GraphBuilder& builder, graph::TensorId x, const graph::Conv2dOptions& options) {
  return builder.batch_norm(builder.conv2d(x, options), graph::Activation::kRelu);
}

// Fused and plain ReLU, a biased convolution, a shortcut that is used twice.
void build_residual(graph::GraphBuilder& builder) {
  graph::TensorId x = images(builder, 8);
  builder.begin_layer("stem");
  x = builder.max_pool(conv_norm(builder, x, {.out_channels = 6, .kernel = 3, .padding = 1}), {});
  builder.begin_layer("block");
  graph::TensorId y =
      builder.relu(builder.batch_norm(builder.conv2d(x, {.out_channels = 6, .kernel = 3, .padding = 1})));
  y = builder.conv2d(y, {.out_channels = 6, .kernel = 1, .bias = true});
  x = builder.add(y, x, graph::Activation::kRelu);
  classify(builder, x);
}

// Branches of one tensor, concatenated; factorised kernels; average pooling that leaves padding out.
void build_inception(graph::GraphBuilder& builder) {
  graph::TensorId x = images(builder, 7);
  builder.begin_layer("stem");
  x = conv_norm(builder, x, {.out_channels = 16, .kernel = 3, .padding = 1});
  builder.begin_layer("a");
  const graph::TensorId a = conv_norm(builder, x, {.out_channels = 16});
  builder.begin_layer("b");
  graph::TensorId b = conv_norm(builder, x, {.out_channels = 6});
  b = conv_norm(builder, b, {.out_channels = 6, .kernel = 1, .kernel_w = 7, .padding_w = 3});
  b = conv_norm(builder, b, {.out_channels = 10, .kernel = 7, .padding = 3, .kernel_w = 1, .padding_w = 0});
  builder.begin_layer("c");
  graph::TensorId c = builder.avg_pool(x, {.kernel = 3, .stride = 1, .padding = 1, .count_padding = false});
  c = builder.relu(builder.conv2d(c, {.out_channels = 6, .bias = true}));
  builder.begin_layer("d");
  const graph::TensorId d = builder.max_pool(x, {.kernel = 3, .stride = 1, .padding = 1});
  builder.begin_layer("concat");
  classify(builder, builder.concat({a, b, c, d}, 1));
}

// Norms before convolutions; every layer reads all before it.
void build_dense_net(graph::GraphBuilder& builder) {
  graph::TensorId x = images(builder, 8);
  builder.begin_layer("stem");
  x = builder.conv2d(x, {.out_channels = 8, .kernel = 3, .padding = 1});
  for (const char* layer : {"layer1", "layer2", "layer3"}) {
    builder.begin_layer(layer);
    graph::TensorId y = builder.conv2d(builder.batch_norm(x, graph::Activation::kRelu), {.out_channels = 12});
    y = builder.conv2d(builder.batch_norm(y, graph::Activation::kRelu), {.out_channels = 4, .kernel = 3, .padding = 1});
    x = builder.concat({x, y}, 1);
  }
  builder.begin_layer("transition");
  x = builder.conv2d(builder.batch_norm(x, graph::Activation::kRelu), {.out_channels = 10});
  x = builder.avg_pool(x, {});
  classify(builder, builder.batch_norm(x, graph::Activation::kRelu));
}

void build_separable(graph::GraphBuilder& builder) {
  graph::TensorId x = images(builder, 8);
  builder.begin_layer("stem");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1}),
                         graph::Activation::kRelu6);
  builder.begin_layer("block");
  graph::TensorId y = builder.batch_norm(builder.conv2d(x, {.out_channels = 16}), graph::Activation::kRelu6);
  y = builder.batch_norm(builder.conv2d(y, {.out_channels = 16, .kernel = 3, .padding = 1, .groups = 16}),
                         graph::Activation::kRelu6);
  y = builder.batch_norm(builder.conv2d(y, {.out_channels = 8}));
  x = builder.add(x, y);
  builder.begin_layer("groups");
  x = builder.unary(builder.conv2d(x, {.out_channels = 12, .groups = 4}), graph::UnaryFunction::kHardSwish);
  classify(builder, x);
}

// As of 2012: response norms, dropout between dense layers.
void build_response_norm(graph::GraphBuilder& builder) {
  graph::TensorId x = images(builder, 9);
  builder.begin_layer("conv1");
  x = builder.relu(builder.conv2d(x, {.out_channels = 10, .kernel = 3, .padding = 1, .bias = true}));
  x = builder.local_response_norm(x, 5, 1e-2F, 0.75F, 1);
  x = builder.max_pool(x, {.kernel = 3, .stride = 2});
  builder.begin_layer("fc1");
  x = builder.dropout(builder.relu(builder.dense(x, 24)), 0.5F);
  builder.begin_layer("fc2");
  builder.softmax_cross_entropy(builder.dense(x, kClasses));
}

void build_recurrent(graph::GraphBuilder& builder) {
  builder.begin_layer("input");
  const auto data = builder.inputs({{"tokens", graph::Content::kTokens, {3, 4}, kVocabulary},
                                    {"next_tokens", graph::Content::kNextTokens, {3, 4}, kVocabulary}});
  builder.begin_layer("embedding");
  graph::TensorId x = builder.transpose(builder.embedding(data[0], kVocabulary, 8), {1, 0, 2});
  builder.begin_layer("lstm1");
  x = builder.dropout(builder.lstm(x, 6), 0.25F);
  builder.begin_layer("lstm2");
  x = builder.lstm(x, 6);
  builder.begin_layer("decoder");
  builder.softmax_cross_entropy(builder.dense(builder.transpose(x, {1, 0, 2}), kVocabulary), data[1]);
}

// One block of attention with two heads and a feed-forward part, norms first, on [B, S, 8].
graph::TensorId transformer_block(graph::GraphBuilder& builder, graph::TensorId x, bool causal) {
  const graph::Shape shape = builder.shape(x);
  const graph::Shape split = {shape[0], shape[1], 2, shape[2] / 2};
  builder.begin_layer("attention");
  const graph::TensorId all = builder.dense(builder.layer_norm(x), 3 * shape[2]);
  const auto head = [&](std::int64_t part, std::vector<std::int64_t> axes) {
    const graph::TensorId mine = builder.slice(all, 2, part * shape[2], (part + 1) * shape[2]);
    return builder.transpose(builder.reshape(mine, split), std::move(axes));
  };
  const graph::TensorId scores = builder.matmul(head(0, {0, 2, 1, 3}), head(1, {0, 2, 3, 1}));
  graph::TensorId weights = builder.softmax(scores, 1 / std::sqrt(static_cast<float>(split[3])), causal);
  weights = builder.dropout(weights, 0.1F);
  graph::TensorId y = builder.transpose(builder.matmul(weights, head(2, {0, 2, 1, 3})), {0, 2, 1, 3});
  x = builder.add(x, builder.dense(builder.reshape(y, shape), shape[2]));
  builder.begin_layer("feed_forward");
  y = builder.gelu(builder.dense(builder.layer_norm(x), 2 * shape[2]));
  return builder.add(x, builder.dropout(builder.dense(y, shape[2]), 0.1F));
}

graph::TensorId named_normal(graph::GraphBuilder& builder, const std::string& name, graph::Shape shape) {
  const graph::Init init{.kind = graph::Init::Kind::kNormal, .stddev = 0.3F, .stream = stream_of(name)};
  return builder.named_parameter(name, std::move(shape), init);
}

// The table of the embedding is the last layer's weight too.
void build_decoder(graph::GraphBuilder& builder) {
  builder.begin_layer("input");
  const auto data = builder.inputs({{"tokens", graph::Content::kTokens, {2, 5}, kVocabulary},
                                    {"next_tokens", graph::Content::kNextTokens, {2, 5}, kVocabulary}});
  builder.begin_layer("embedding");
  const graph::TensorId table = named_normal(builder, "table", {kVocabulary, 8});
  const graph::TensorId positions = named_normal(builder, "positions", {5, 8});
  graph::TensorId x = builder.binary(builder.embedding_with(data[0], table), positions, graph::BinaryFunction::kAdd);
  x = transformer_block(builder, x, true);
  builder.begin_layer("decoder");
  builder.softmax_cross_entropy(builder.dense_with(builder.layer_norm(x), table), data[1]);
}

void build_encoder(graph::GraphBuilder& builder) {
  builder.begin_layer("input");
  const auto data = builder.inputs({{"tokens", graph::Content::kMaskedTokens, {2, 6}, kVocabulary},
                                    {"segments", graph::Content::kSegments, {2, 6}, 2},
                                    {"hidden", graph::Content::kHiddenTokens, {2, 6}, kVocabulary}});
  builder.begin_layer("embedding");
  graph::TensorId x = builder.add(builder.embedding(data[0], kVocabulary, 8), builder.embedding(data[1], 2, 8));
  x = transformer_block(builder, builder.layer_norm(x), false);
  builder.begin_layer("head");
  x = builder.layer_norm(builder.unary(builder.dense(x, 8), graph::UnaryFunction::kGeluTanh));
  builder.softmax_cross_entropy(builder.dense(x, kVocabulary), data[2]);
}

// A discriminator of two layers with weights of its own, run three times a step.
class Judge {
 public:
  explicit Judge(graph::GraphBuilder& builder)
      : builder_(builder),
        conv_(named_normal(builder, "discriminator.conv", {6, 3, 4, 4})),
        norm_(builder.named_parameter("discriminator.norm", {2, 6}, {.kind = graph::Init::Kind::kScaleShift})),
        running_(builder.named_parameter("discriminator.running", {2, 6}, {.kind = graph::Init::Kind::kRunningStats},
                                         graph::Role::kBuffer)),
        dense_(named_normal(builder, "discriminator.dense", {1, 96})) {}

  graph::TensorId operator()(graph::TensorId x, const std::string& layer) {
    builder_.begin_layer(layer);
    x = builder_.add(graph::OpKind::kConv2d, graph::ConvolutionAttributes{.window = graph::square_window(4, 2, 1)},
                     {x, conv_});
    x = builder_.add(graph::OpKind::kBatchNorm, graph::NormAttributes{.epsilon = 1e-5F, .momentum = 0.1F},
                     {x, norm_, running_});
    return builder_.dense_with(builder_.unary(x, graph::UnaryFunction::kLeakyRelu, 0.2F), dense_);
  }

 private:
  graph::GraphBuilder& builder_;
  graph::TensorId conv_, norm_, running_, dense_;
};

void build_adversarial(graph::GraphBuilder& builder) {
  builder.begin_layer("input");
  const auto data = builder.inputs(
      {{"images", graph::Content::kImages, {3, 3, 8, 8}, 0}, {"noise", graph::Content::kNoise, {3, 7, 1, 1}, 0}});
  Judge judge(builder);
  builder.sigmoid_cross_entropy(judge(data[0], "real"), 0.9F);
  builder.begin_layer("generator.1");
  graph::TensorId fakes = builder.conv_transpose2d(data[1], {.out_channels = 8, .kernel = 4});
  fakes = builder.batch_norm(fakes, graph::Activation::kRelu);
  builder.begin_layer("generator.2");
  fakes = builder.conv_transpose2d(fakes, {.out_channels = 3, .kernel = 4, .stride = 2, .padding = 1, .bias = true});
  fakes = builder.unary(fakes, graph::UnaryFunction::kTanh);
  builder.sigmoid_cross_entropy(judge(fakes, "fake"), 0);
  builder.end_stage("discriminator.");
  builder.sigmoid_cross_entropy(judge(fakes, "answer"), 1);
  builder.end_stage("generator.");
}

}  // namespace

std::vector<SmallNetwork> small_networks() {
  const std::vector<std::pair<const char*, void (*)(graph::GraphBuilder&)>> builds = {
      {"residual", build_residual},
      {"inception", build_inception},
      {"dense_net", build_dense_net},
      {"separable", build_separable},
      {"response_norm", build_response_norm},
      {"recurrent", build_recurrent},
      {"decoder", build_decoder},
      {"encoder", build_encoder},
      {"adversarial", build_adversarial},
  };
  std::vector<SmallNetwork> networks;
  for (const auto& [name, build] : builds) {
    graph::GraphBuilder builder(name);
    build(builder);
    auto graph = builder.finish();
    SLUICE_CHECK(graph.ok(), graph.error().message);
    networks.push_back({name, std::move(*graph)});
  }
  return networks;
}

}  // namespace sluice::testing

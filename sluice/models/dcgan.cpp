#include <fmt/format.h>

#include <bit>

#include "sluice/base/random.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr float kWeightStddev = 0.02F;
constexpr float kSlope = 0.2F;
constexpr std::int64_t kNoiseFeatures = 100;
constexpr std::int64_t kSmallestMap = 4;  // pixels a side, of the deepest feature maps
constexpr graph::Conv2dOptions kResize{.kernel = 4, .stride = 2, .padding = 1};
constexpr graph::Conv2dOptions kWholeMap{.kernel = 4};

graph::Conv2dOptions with_channels(graph::Conv2dOptions options, std::int64_t channels) {
  options.out_channels = channels;
  return options;
}

// Noise [N, 100, 1, 1] to images of 4 * 2^doublings pixels a side, in [-1, 1].
graph::TensorId generate(graph::GraphBuilder& builder, graph::TensorId x, std::int64_t width, int doublings) {
  for (int i = 0; i < doublings; ++i) {
    builder.begin_layer(fmt::format("generator.conv{}", i + 1));
    const graph::Conv2dOptions options = with_channels(i == 0 ? kWholeMap : kResize, width << (doublings - 1 - i));
    x = builder.batch_norm(builder.conv_transpose2d(x, options), graph::Activation::kRelu);
  }
  builder.begin_layer(fmt::format("generator.conv{}", doublings + 1));
  return builder.unary(builder.conv_transpose2d(x, with_channels(kResize, 3)), graph::UnaryFunction::kTanh);
}

// Runs several times in a step, on the same parameters each time.
class Discriminator {
 public:
  Discriminator(graph::GraphBuilder& builder, std::int64_t width, int halvings) : builder_(builder) {
    std::int64_t channels = 3;
    for (int i = 0; i < halvings; ++i) {
      layers_.push_back(make_layer(fmt::format("discriminator.conv{}", i + 1), channels, width << i, i > 0));
      channels = width << i;
    }
    layers_.push_back(make_layer(fmt::format("discriminator.conv{}", halvings + 1), channels, 1, false));
  }

  // Images to logits [N, 1, 1, 1], in the layers "<layer>.<pass>".
  graph::TensorId judge(graph::TensorId x, const std::string& pass) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const bool last = i + 1 == layers_.size();
      builder_.begin_layer(layers_[i].name + "." + pass);
      x = convolve(x, layers_[i], last ? kWholeMap : kResize);
      if (!last) x = builder_.unary(x, graph::UnaryFunction::kLeakyRelu, kSlope);
    }
    return x;
  }

 private:
  struct Layer {
    std::string name;
    graph::TensorId weight = -1;
    graph::TensorId scale_shift = -1, running = -1;  // -1: no norm
  };

  Layer make_layer(const std::string& name, std::int64_t in_channels, std::int64_t out_channels, bool normalised) {
    Layer layer{.name = name};
    const std::string weight = name + ".weight";
    const graph::Init init{.kind = graph::Init::Kind::kNormal, .stddev = kWeightStddev, .stream = stream_of(weight)};
    layer.weight = builder_.named_parameter(weight, {out_channels, in_channels, kResize.kernel, kResize.kernel}, init);
    if (!normalised) return layer;
    const graph::Shape shape = {2, out_channels};
    layer.running = builder_.named_parameter(name + ".bn.running", shape, {.kind = graph::Init::Kind::kRunningStats},
                                             graph::Role::kBuffer);
    layer.scale_shift =
        builder_.named_parameter(name + ".bn.scale_shift", shape, {.kind = graph::Init::Kind::kScaleShift});
    return layer;
  }

  graph::TensorId convolve(graph::TensorId x, const Layer& layer, const graph::Conv2dOptions& options) {
    graph::ConvolutionAttributes window;
    window.window = graph::square_window(options.kernel, options.stride, options.padding);
    x = builder_.add(graph::OpKind::kConv2d, window, {x, layer.weight});
    if (layer.scale_shift < 0) return x;
    graph::NormAttributes norm;
    norm.epsilon = 1e-5F;
    norm.momentum = 0.1F;
    return builder_.add(graph::OpKind::kBatchNorm, norm, {x, layer.scale_shift, layer.running});
  }

  graph::GraphBuilder& builder_;
  std::vector<Layer> layers_;
};

}  // namespace

Result<graph::Graph> build_dcgan(const std::string& name, const ModelOptions& options) {
  const auto image_size = static_cast<std::uint64_t>(options.image_size);
  if (!std::has_single_bit(image_size)) {
    return Error{ErrorCode::kBadInput, fmt::format("{}: image size must be a power of two, got {}", name, image_size)};
  }
  const int doublings = std::countr_zero(image_size) - std::countr_zero(std::uint64_t{kSmallestMap});
  graph::GraphBuilder builder(name);
  builder.weight_init(kWeightStddev);
  builder.begin_layer("input");
  const std::int64_t side = options.image_size;
  const std::vector<graph::TensorId> data =
      builder.inputs({{"images", graph::Content::kImages, {options.batch, 3, side, side}},
                      {"noise", graph::Content::kNoise, {options.batch, kNoiseFeatures, 1, 1}}});
  Discriminator discriminator(builder, options.width, doublings);
  builder.sigmoid_cross_entropy(discriminator.judge(data[0], "real"), 1);
  const graph::TensorId fakes = generate(builder, data[1], options.width, doublings);
  builder.sigmoid_cross_entropy(discriminator.judge(fakes, "fake"), 0);
  builder.end_stage("discriminator.");
  builder.sigmoid_cross_entropy(discriminator.judge(fakes, "answer"), 1);
  builder.end_stage("generator.");
  return builder.finish();
}

}  // namespace sluice::models

#include "sluice/models/inception_branches.hpp"

namespace sluice::models {
namespace {

constexpr std::int64_t kUsualWidth = 32;

}  // namespace

InceptionConv row(std::string layer, std::int64_t channels, std::int64_t extent) {
  InceptionConv conv(std::move(layer), channels, extent);
  conv.kernel_h = 1;
  return conv;
}

InceptionConv column(std::string layer, std::int64_t channels, std::int64_t extent) {
  InceptionConv conv(std::move(layer), channels, extent);
  conv.kernel_w = 1;
  return conv;
}

InceptionConv valid(std::string layer, std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  InceptionConv conv(std::move(layer), channels, kernel, stride);
  conv.padded = false;
  return conv;
}

graph::TensorId InceptionBranches::conv(graph::TensorId x, const InceptionConv& conv) {
  const graph::Conv2dOptions options{.out_channels = scaled(conv.channels, width_, kUsualWidth),
                                     .kernel = conv.kernel_h,
                                     .stride = conv.stride,
                                     .padding = conv.padded ? conv.kernel_h / 2 : 0,
                                     .kernel_w = conv.kernel_w,
                                     .padding_w = conv.padded ? conv.kernel_w / 2 : 0};
  const std::string layer = block_.empty() ? conv.layer : block_ + "." + conv.layer;
  return conv_norm(builder_, layer, x, options, graph::Activation::kRelu, kInceptionEpsilon);
}

graph::TensorId InceptionBranches::chain(const std::vector<InceptionConv>& convs) {
  graph::TensorId x = input_;
  for (const InceptionConv& next : convs) x = conv(x, next);
  return x;
}

void InceptionBranches::begin(const std::string& block, graph::TensorId x) {
  block_ = block;
  input_ = x;
  parts_.clear();
}

void InceptionBranches::forked_branch(const std::vector<InceptionConv>& convs, const InceptionConv& left,
                                      const InceptionConv& right) {
  const graph::TensorId trunk = chain(convs);
  parts_.push_back(conv(trunk, left));
  parts_.push_back(conv(trunk, right));
}

void InceptionBranches::pooled_branch(const InceptionConv& next) {
  builder_.begin_layer(block_ + ".avgpool");
  const graph::PoolOptions same{.kernel = 3, .stride = 1, .padding = 1, .count_padding = count_padding_};
  parts_.push_back(conv(builder_.avg_pool(input_, same), next));
}

void InceptionBranches::max_pool_branch() {
  builder_.begin_layer(block_ + ".maxpool");
  parts_.push_back(builder_.max_pool(input_, {.kernel = 3, .stride = 2}));
}

graph::TensorId InceptionBranches::end() {
  block_.clear();
  return builder_.concat(parts_, 1);
}

}  // namespace sluice::models

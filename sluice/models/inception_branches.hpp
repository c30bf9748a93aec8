// The Inception networks' modules: branches of convolutions side by side whose results are concatenated.
#pragma once

#include <string>
#include <vector>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"

namespace sluice::models {

// One convolution with batch norm and ReLU: `channels` at the usual width, a kernel of kernel_h x kernel_w. With
// stride 1 the result is as large as the input unless `padded` is false; with stride 2 there is no padding.
struct InceptionConv {
  InceptionConv(std::string layer_name, std::int64_t out_channels, std::int64_t kernel, std::int64_t step = 1)
      : layer(std::move(layer_name)),
        channels(out_channels),
        kernel_h(kernel),
        kernel_w(kernel),
        stride(step),
        padded(step == 1) {}

  std::string layer;
  std::int64_t channels;
  std::int64_t kernel_h, kernel_w;
  std::int64_t stride;
  bool padded;
};

InceptionConv row(std::string layer, std::int64_t channels, std::int64_t extent);     // 1 x extent
InceptionConv column(std::string layer, std::int64_t channels, std::int64_t extent);  // extent x 1
InceptionConv valid(std::string layer, std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1);

// begin(), any number of branches, end(): the concatenated module. Layers are named "<block>.<layer>".
class InceptionBranches {
 public:
  // count_padding: whether zeros beyond the border count in the averages of pooled branches.
  InceptionBranches(graph::GraphBuilder& builder, std::int64_t width, bool count_padding)
      : builder_(builder), width_(width), count_padding_(count_padding) {}

  graph::TensorId conv(graph::TensorId x, const InceptionConv& conv);

  void begin(const std::string& block, graph::TensorId x);
  void branch(const std::vector<InceptionConv>& convs) { parts_.push_back(chain(convs)); }
  void forked_branch(const std::vector<InceptionConv>& convs, const InceptionConv& left, const InceptionConv& right);
  void pooled_branch(const InceptionConv& conv);  // after a 3x3 average pool of stride 1
  void max_pool_branch();                         // 3x3, stride 2
  graph::TensorId end();

 private:
  graph::TensorId chain(const std::vector<InceptionConv>& convs);

  graph::GraphBuilder& builder_;
  std::int64_t width_;
  bool count_padding_;
  std::string block_;
  graph::TensorId input_ = -1;
  std::vector<graph::TensorId> parts_;
};

}  // namespace sluice::models

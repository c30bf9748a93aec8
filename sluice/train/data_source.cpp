#include "sluice/train/data_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/train/cifar10.hpp"

namespace sluice {
namespace {

constexpr std::string_view kCifarPrefix = "cifar10:";

}  // namespace

Result<std::unique_ptr<InputSource>> open_data_source(std::string_view text, const ImageSetShape& shape,
                                                      std::uint64_t seed) {
  if (text == "synthetic") return std::unique_ptr<InputSource>(std::make_unique<SyntheticData>(shape, seed));
  if (!text.starts_with(kCifarPrefix)) {
    return Error{ErrorCode::kBadInput, fmt::format("unknown data '{}'; write synthetic or cifar10:DIRECTORY", text)};
  }
  if (shape.image_size != 32 || shape.channels != 3 || shape.classes != 10) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("CIFAR-10 has 3-channel 32-pixel images of 10 classes, but the model takes {} channels, "
                             "{} pixels and {} classes; set --image-size 32 --classes 10",
                             shape.channels, shape.image_size, shape.classes)};
  }
  text.remove_prefix(kCifarPrefix.size());
  SLUICE_ASSIGN(std::unique_ptr<InputSource> data, Cifar10Data::open(text, shape.batch, seed));
  return data;
}

ImageSetShape image_set_shape(const Graph& graph) {
  const auto input =
      std::find_if(graph.ops().begin(), graph.ops().end(), [](const Op& op) { return op.kind == OpKind::kInput; });
  const auto loss = std::find_if(graph.ops().begin(), graph.ops().end(),
                                 [](const Op& op) { return op.kind == OpKind::kSoftmaxCrossEntropy; });
  SLUICE_CHECK(input != graph.ops().end() && loss != graph.ops().end(), "a training graph has an input op and a loss");
  const Shape& images = graph.tensor(input->outputs.at(0)).shape;
  return {images.at(0), images.at(1), images.at(2), graph.tensor(loss->outputs.at(1)).shape.at(1)};
}

}  // namespace sluice

// Opens the training data that the user names: "synthetic", or "cifar10:DIRECTORY".
//
// CIFAR-10 has 32 x 32 images of 10 classes; a model of another shape is refused (kBadInput).
#pragma once

#include <memory>
#include <string_view>

#include "sluice/exec/backend.hpp"
#include "sluice/train/synthetic_data.hpp"

namespace sluice {

Result<std::unique_ptr<InputSource>> open_data_source(std::string_view text, const ImageSetShape& shape,
                                                      std::uint64_t seed);

// The shape of the images that the graph's input op expects, and its number of classes.
ImageSetShape image_set_shape(const Graph& graph);

}  // namespace sluice

// Built-in models: networks by name, parameterised by batch, image size and classes.
//
// A model is its forward graph with the loss; build_training_model adds backward and update ops (graph/autodiff.hpp)
// and slices what is too big to be one operand: dense layers by features (graph/slice_dense.hpp), convolutions and
// pooling by samples (graph/slice_batch.hpp). Weights are not
// trained ones: they start from seeded random numbers (Tensor::init). Everything is a pure function of its arguments.
// Errors (kBadInput): unknown name, batch or classes below 1, an image size that the network cannot take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/autodiff.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice {

struct ModelOptions {
  std::int64_t batch = 1;
  std::int64_t image_size = 0;  // pixels a side; 0: the model's default
  std::int64_t classes = 0;     // 0: the model's default
};

struct ModelEntry {
  std::string name;
  std::string summary;
  std::int64_t default_batch = 1;
  std::int64_t default_image_size = 224;
  std::int64_t default_classes = 1000;
};

const std::vector<ModelEntry>& models();

Result<Graph> build_model(std::string_view name, const ModelOptions& options);
Result<Graph> build_training_model(std::string_view name, const ModelOptions& options, const SgdOptions& sgd = {});

}  // namespace sluice

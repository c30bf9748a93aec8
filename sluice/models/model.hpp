// Built-in models: networks by name, parameterised by batch, image size or sequence length, width and depth.
//
// A model is its forward graph with the loss; build_training_model adds backward and update ops
// (graph/autodiff/autodiff.hpp) and prepares the graph for training inside a budget (graph/rewrite/prepare.hpp).
// Weights are not trained ones: they start from seeded random numbers (Tensor::init). Everything is a pure function of
// its arguments.
// Errors (kBadInput): unknown name, batch or classes below 1, an option that the network does not have or cannot take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::models {

// 0 (dropout: below 0) stands for the model's default.
struct ModelOptions {
  std::int64_t batch = 1;
  std::int64_t image_size = 0;  // pixels per side
  std::int64_t classes = 0;     // of images; language models: size of the vocabulary
  std::int64_t sequence = 0;    // tokens
  std::int64_t width = 0;       // channels of the first convolution, DenseNet's growth, hidden features; all of the
                                // network's layers follow in proportion
  std::int64_t depth = 0;       // blocks per stage or layers, where the network is a repetition of one
  float dropout = -1;           // share of activations set to zero where the network has dropout
};

struct ModelEntry {
  std::string name;
  std::string summary;
  ModelOptions defaults;  // 0 (dropout: below 0) where the model does not have the option
};

const std::vector<ModelEntry>& models();

Result<graph::Graph> build_model(std::string_view name, const ModelOptions& options);
Result<graph::Graph> build_training_model(std::string_view name, const ModelOptions& options,
                                          const graph::OptimizerOptions& optimizer = {});

}  // namespace sluice::models

// The table of built-in models: how each is described, what its options may be, and who builds it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sluice/models/model.hpp"

namespace sluice::models {

// Limits of a model's options, inclusive. A limit counts only if the model has the option.
struct OptionLimits {
  std::int64_t smallest_image = 1;
  std::int64_t image_multiple = 1;
  std::int64_t longest_sequence = 1;
  std::int64_t width_multiple = 1;
};

struct Recipe {
  ModelEntry entry;
  OptionLimits limits;
  std::function<Result<graph::Graph>(const std::string& name, const ModelOptions& complete)> build;
};

const std::vector<Recipe>& recipes();  // by family, as they are listed

}  // namespace sluice::models

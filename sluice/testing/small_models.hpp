// Every built-in model, scaled down so that tests can build and run it in a moment.
#pragma once

#include <algorithm>

#include "sluice/models/model.hpp"

namespace sluice::testing {

// The smallest images the network takes (almost), few channels, one block a stage; two layers of 64 features for
// language models. Dropout as usual.
inline models::ModelOptions small_options(const models::ModelEntry& entry, std::int64_t batch = 2) {
  const models::ModelOptions& usual = entry.defaults;
  models::ModelOptions small{.batch = batch};
  const bool text = usual.sequence > 0;
  if (usual.image_size > 0) small.image_size = usual.image_size > 224 ? 75 : usual.image_size == 224 ? 32 : 16;
  if (usual.classes > 0) small.classes = text ? 40 : 10;
  if (text) small.sequence = 8;
  if (usual.width > 0) small.width = text ? 64 : 8;
  if (usual.depth > 0) small.depth = text ? 2 : 1;
  return small;
}

}  // namespace sluice::testing

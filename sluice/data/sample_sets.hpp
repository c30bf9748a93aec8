// Data sets by sample: what a batch is put together from (batch_source.hpp).
//
// A sample depends on its index alone. read() may be called from several threads at once.
#pragma once

#include <cstdint>
#include <span>

#include "sluice/base/result.hpp"

namespace sluice::data {

enum class Split { kTraining, kValidation };

struct ImageShape {
  std::int64_t channels = 3, height = 0, width = 0;
  std::int64_t elements() const { return channels * height * width; }
};

class ImageSet {
 public:
  virtual ~ImageSet() = default;
  virtual std::int64_t size() const = 0;
  // Fills `image` ([C, H, W] of the shape it was opened for) and gives back its class.
  virtual Result<std::int32_t> read(std::int64_t sample, std::span<float> image) const = 0;
};

class TokenSet {
 public:
  virtual ~TokenSet() = default;
  virtual std::int64_t size() const = 0;
  // Fills `tokens`: the sample's sequence and the token that follows it.
  virtual Status read(std::int64_t sample, std::span<std::int32_t> tokens) const = 0;
};

}  // namespace sluice::data

// A synthetic image set that a network can really learn, made on the fly from a seed: the default data, so that every
// command runs without a download.
//
// A sample's class fixes a wave pattern in each colour channel (frequencies, phases, brightness); the sample itself
// adds a small shift and uniform noise. There are `kSamples` samples, so that epochs exist. Making 5 million floats
// takes a few milliseconds on two threads.
#pragma once

#include "sluice/data/sample_sets.hpp"

namespace sluice::data {

class SyntheticImages : public ImageSet {
 public:
  static constexpr std::int64_t kSamples = 4096;

  SyntheticImages(ImageShape shape, std::int64_t classes, std::uint64_t seed)
      : shape_(shape), classes_(classes), seed_(seed) {}

  std::int64_t size() const override { return kSamples; }
  Result<std::int32_t> read(std::int64_t sample, std::span<float> image) const override;

 private:
  ImageShape shape_;
  std::int64_t classes_;
  std::uint64_t seed_;
};

}  // namespace sluice::data

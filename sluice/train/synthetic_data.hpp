// A synthetic image set that a network can really learn, made on the fly from a seed: the default data, so that every
// command runs without a download.
//
// A sample's class fixes a wave pattern in each colour channel (frequencies, phases, brightness); the sample itself
// adds a small shift and uniform noise. There are `kSamples` samples, so that epochs exist; each step's batch depends
// on (seed, step) alone. Making 5 million floats takes a few milliseconds on two threads. Written in parallel over
// samples, each by one thread: the bits do not depend on the number of threads.
#pragma once

#include "sluice/exec/backend.hpp"

namespace sluice {

struct ImageSetShape {
  std::int64_t batch = 0;
  std::int64_t channels = 3;
  std::int64_t image_size = 0;  // height and width
  std::int64_t classes = 0;
  std::int64_t sample_floats() const { return channels * image_size * image_size; }
};

class SyntheticData : public InputSource {
 public:
  static constexpr std::int64_t kSamples = 4096;

  SyntheticData(ImageSetShape shape, std::uint64_t seed) : shape_(shape), seed_(seed) {}

  Status fill(std::int64_t step, std::span<float> images, std::span<std::int32_t> labels) override;

 private:
  ImageSetShape shape_;
  std::uint64_t seed_;
};

}  // namespace sluice

// Puts batches together: fills each tensor of a graph's input op by its content, from a set of images, a set of token
// sequences, or random numbers.
//
//   images, labels            a sample of the image set
//   tokens, next tokens       a sequence of the token set, and the same one token later
//   masked, hidden tokens     a sequence in which 15 % of the tokens (at least one) are replaced by the mask token,
//                             bound - 1; what they hid, and -1 elsewhere
//   segments                  0 up to a random point of each sequence, 1 after it
//   noise                     standard normal
//
// In order kShuffled, every epoch visits every sample once, in a fresh order; masks, segments and noise are fresh in
// every batch. kSequential goes through the set front to back and then again. Everything is a function of (seed, batch)
// alone. Samples are read in parallel, each by one thread: the bits do not depend on the number of threads.
#pragma once

#include <memory>
#include <vector>

#include "sluice/data/input_tensors.hpp"
#include "sluice/data/sample_sets.hpp"
#include "sluice/kernels/backend.hpp"

namespace sluice::data {

enum class SampleOrder { kShuffled, kSequential };

class BatchSource : public kernels::InputSource {
 public:
  // A set is needed where a tensor's content comes from one.
  BatchSource(std::vector<InputTensor> tensors, std::unique_ptr<ImageSet> images, std::unique_ptr<TokenSet> tokens,
              SampleOrder order, std::uint64_t seed);

  Status fill(std::int64_t batch, std::span<const std::span<std::byte>> tensors) override;

  // Samples of the set; 0 when all is random.
  std::int64_t sample_count() const;

 private:
  struct Targets;
  Status fill_sample(const Targets& targets, std::int64_t position, std::int64_t row) const;
  Status fill_image(const Targets& targets, std::int64_t sample, std::int64_t row) const;
  Status fill_tokens(const Targets& targets, std::int64_t sample, std::int64_t position, std::int64_t row) const;
  std::int64_t sample_of(std::int64_t position) const;

  std::vector<InputTensor> tensors_;
  std::unique_ptr<ImageSet> images_;
  std::unique_ptr<TokenSet> tokens_;
  SampleOrder order_;
  std::uint64_t seed_;
};

}  // namespace sluice::data

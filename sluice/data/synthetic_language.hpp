// A synthetic language that a model can really learn: a Markov chain over the vocabulary, made on the fly from a seed.
//
// After each token comes one of its four usual successors, with probabilities 1/2, 1/4, 1/8 and 1/8. One time in eight
// any token comes instead. Some tokens are common and others rare. Perplexity starts near the vocabulary's size and can
// fall below 10. There are `kSamples` sequences.
#pragma once

#include "sluice/data/sample_sets.hpp"

namespace sluice::data {

class SyntheticLanguage : public TokenSet {
 public:
  static constexpr std::int64_t kSamples = 4096;

  SyntheticLanguage(std::int64_t vocabulary, std::uint64_t seed) : vocabulary_(vocabulary), seed_(seed) {}

  std::int64_t size() const override { return kSamples; }
  Status read(std::int64_t sample, std::span<std::int32_t> tokens) const override;

 private:
  std::int64_t vocabulary_;
  std::uint64_t seed_;
};

}  // namespace sluice::data

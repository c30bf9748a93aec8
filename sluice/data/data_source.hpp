// Opens the data that the user names:
//
//   synthetic          images, text or noise made from the seed: fits every model
//   cifar10:DIR        cifar.hpp: the model takes 3 x 32 x 32 images and has at least 10 classes
//   cifar100:DIR       the same with 100 classes
//   mnist:DIR          mnist.hpp: the model takes 1 or 3 channels of 28 x 28 or 32 x 32
//   tokens:PATH        text_corpus.hpp: the model takes tokens and has a vocabulary of at least 256 (257 with a mask)
//
// Errors (kBadInput): an unknown name, a model of another shape, files that are missing, cut short or of another kind.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "sluice/data/batch_source.hpp"

namespace sluice::data {

// Training batches are shuffled; validation goes through its split in order. Synthetic data has no validation split.
Result<std::unique_ptr<BatchSource>> open_data_source(std::string_view text, const std::vector<InputTensor>& tensors,
                                                      std::uint64_t seed, Split split = Split::kTraining);

bool has_validation_split(std::string_view text);

// "cifar10" of "cifar10:DIRECTORY".
std::string_view data_kind(std::string_view text);

}  // namespace sluice::data

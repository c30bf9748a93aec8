// MNIST (and sets in its format, such as Fashion-MNIST): 28 x 28 grey images with labels 0 to 9, in idx files.
//
//   train-images-idx3-ubyte, train-labels-idx1-ubyte    training
//   t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte      validation
//
// An image is put in the middle of the model's image (28 or 32 pixels a side: 32 adds two black pixels on every side)
// and repeated in each of the model's channels (1 or 3). Pixels are scaled to [0, 1] and normalised by MNIST's mean and
// deviation.
// Errors: a missing file, a wrong magic number or extent, a size that is not what the header says, images and labels of
// different counts, a label above 9.
#pragma once

#include <filesystem>
#include <memory>

#include "sluice/data/data_file.hpp"
#include "sluice/data/sample_sets.hpp"

namespace sluice::data {

class MnistImages : public ImageSet {
 public:
  static constexpr std::int64_t kSize = 28;
  static constexpr std::int64_t kPixels = kSize * kSize;

  // `shape` is what the model takes: 28 x 28 or larger.
  static Result<std::unique_ptr<ImageSet>> open(const std::filesystem::path& directory, const ImageShape& shape,
                                                Split split);

  std::int64_t size() const override { return count_; }
  Result<std::int32_t> read(std::int64_t sample, std::span<float> image) const override;

 private:
  MnistImages(DataFile images, DataFile labels, std::int64_t count, const ImageShape& shape)
      : images_(std::move(images)), labels_(std::move(labels)), count_(count), shape_(shape) {}

  DataFile images_, labels_;
  std::int64_t count_;
  ImageShape shape_;
};

}  // namespace sluice::data

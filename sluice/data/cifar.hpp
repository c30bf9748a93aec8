// CIFAR-10 and CIFAR-100 in their binary formats. A record is its label bytes, then 3 x 32 x 32 colour bytes (red,
// green, blue planes).
//
//   CIFAR-10    data_batch_1.bin .. data_batch_5.bin of 10,000 records, test_batch.bin of 10,000; one label byte
//   CIFAR-100   train.bin of 50,000 records, test.bin of 10,000; coarse then fine label, of which the fine one is used
//
// Pixels are scaled to [0, 1] and normalised by the training set's channel means and deviations.
// Errors: a missing directory or file, a file of the wrong size, a label above the last class.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "sluice/data/data_file.hpp"
#include "sluice/data/sample_sets.hpp"

namespace sluice::data {

struct CifarVariant;  // what distinguishes the two sets

class CifarImages : public ImageSet {
 public:
  static constexpr std::int64_t kSize = 32;
  static constexpr std::int64_t kPixels = 3 * kSize * kSize;

  // `classes` is 10 or 100.
  static Result<std::unique_ptr<ImageSet>> open(const std::filesystem::path& directory, int classes, Split split);

  std::int64_t size() const override;
  Result<std::int32_t> read(std::int64_t sample, std::span<float> image) const override;

 private:
  explicit CifarImages(const CifarVariant& variant) : variant_(variant) {}

  const CifarVariant& variant_;
  std::vector<DataFile> files_;
};

}  // namespace sluice::data

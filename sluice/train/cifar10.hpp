// CIFAR-10 in its binary format: data_batch_1.bin .. data_batch_5.bin, 10,000 records each of one label byte and
// 3 x 32 x 32 colour bytes (red, green, blue planes).
//
// Records are read where they lie (pread), so that the set costs no memory of its own beyond the kernel's page cache.
// Pixels are scaled to [0, 1] and normalised by the training set's channel means and deviations. Each epoch visits
// every record once in an order that depends on (seed, epoch) alone.
// Errors: a missing directory or file, a file of the wrong size, a label above 9.
#pragma once

#include <array>
#include <filesystem>
#include <memory>

#include "sluice/exec/backend.hpp"

namespace sluice {

class Cifar10Data : public InputSource {
 public:
  static constexpr std::int64_t kFiles = 5;
  static constexpr std::int64_t kRecordsPerFile = 10'000;
  static constexpr std::int64_t kPixels = std::int64_t{3} * 32 * 32;
  static constexpr std::int64_t kRecordBytes = 1 + kPixels;

  static Result<std::unique_ptr<Cifar10Data>> open(const std::filesystem::path& directory, std::int64_t batch,
                                                   std::uint64_t seed);
  ~Cifar10Data() override;
  Cifar10Data(const Cifar10Data&) = delete;
  Cifar10Data& operator=(const Cifar10Data&) = delete;

  Status fill(std::int64_t step, std::span<float> images, std::span<std::int32_t> labels) override;

 private:
  Cifar10Data(std::int64_t batch, std::uint64_t seed) : batch_(batch), seed_(seed) { files_.fill(-1); }
  Status read_record(std::int64_t record, float* image, std::int32_t& label) const;

  std::int64_t batch_;
  std::uint64_t seed_;
  std::filesystem::path directory_;
  std::array<int, kFiles> files_{};
};

}  // namespace sluice

#include "sluice/data/cifar.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sluice/base/as_index.hpp"

namespace sluice::data {

struct CifarVariant {
  std::string name;
  int classes;
  std::int64_t label_bytes;  // the last one is the class
  std::int64_t records_per_file;
  std::vector<std::string> training, validation;
  std::array<float, 3> mean, deviation;  // of the 50,000 training images' channels, pixels scaled to [0, 1]

  std::int64_t record_bytes() const { return label_bytes + CifarImages::kPixels; }
};

namespace {

const CifarVariant& variant_of(int classes, Split split) {
  static const CifarVariant ten{
      "CIFAR-10",
      10,
      1,
      10'000,
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      {"test_batch.bin"},
      {0.4914F, 0.4822F, 0.4465F},
      {0.2470F, 0.2435F, 0.2616F}};
  static const CifarVariant hundred{
      "CIFAR-100", 100, 2, 50'000, {"train.bin"}, {}, {0.5071F, 0.4866F, 0.4409F}, {0.2673F, 0.2564F, 0.2762F}};
  static const CifarVariant hundred_test{"CIFAR-100",      100, 2, 10'000, {}, {"test.bin"}, hundred.mean,
                                         hundred.deviation};
  if (classes == 10) return ten;
  return split == Split::kTraining ? hundred : hundred_test;
}

}  // namespace

Result<std::unique_ptr<ImageSet>> CifarImages::open(const std::filesystem::path& directory, int classes, Split split) {
  const CifarVariant& variant = variant_of(classes, split);
  std::unique_ptr<CifarImages> set(new CifarImages(variant));
  const std::vector<std::string>& names = split == Split::kTraining ? variant.training : variant.validation;
  for (const std::string& name : names) {
    SLUICE_ASSIGN(
        DataFile file,
        DataFile::open(directory / name, variant.name + " file",
                       fmt::format("give the directory that holds {} (the binary version of the set)", name)));
    SLUICE_RETURN_IF_ERROR(file.check_size(
        variant.records_per_file * variant.record_bytes(),
        fmt::format("{} records of {} in the binary version", variant.records_per_file, variant.record_bytes())));
    set->files_.push_back(std::move(file));
  }
  return std::unique_ptr<ImageSet>(std::move(set));
}

std::int64_t CifarImages::size() const { return std::ssize(files_) * variant_.records_per_file; }

Result<std::int32_t> CifarImages::read(std::int64_t sample, std::span<float> image) const {
  std::array<unsigned char, 2 + kPixels> record{};
  const DataFile& file = files_[as_index(sample / variant_.records_per_file)];
  const std::int64_t index = sample % variant_.records_per_file;
  SLUICE_RETURN_IF_ERROR(
      file.read(index * variant_.record_bytes(), std::span(record).first(as_index(variant_.record_bytes()))));
  const int label = record[as_index(variant_.label_bytes - 1)];
  if (label >= variant_.classes) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("record {} of {} has label {}, but {} has classes 0 to {}; the file is damaged", index,
                             file.path().string(), label, variant_.name, variant_.classes - 1)};
  }
  constexpr std::size_t kPlane = kPixels / 3;
  const unsigned char* pixels = record.data() + variant_.label_bytes;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const float scale = 1 / (255 * variant_.deviation[channel]);
    const float bias = -variant_.mean[channel] / variant_.deviation[channel];
    for (std::size_t i = channel * kPlane; i < (channel + 1) * kPlane; ++i) {
      image[i] = static_cast<float>(pixels[i]) * scale + bias;
    }
  }
  return label;
}

}  // namespace sluice::data

#include "sluice/data/mnist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sluice/base/as_index.hpp"

namespace sluice::data {
namespace {

constexpr float kMean = 0.1307F;
constexpr float kDeviation = 0.3081F;
constexpr std::int64_t kImageHeader = 16;
constexpr std::int64_t kLabelHeader = 8;

Result<std::vector<std::int64_t>> read_header(const DataFile& file, std::int64_t magic, std::int64_t words) {
  std::vector<unsigned char> bytes(as_index(words * 4));
  if (file.bytes() < words * 4) {
    return Error{ErrorCode::kBadInput, fmt::format("{} has {} bytes where its header alone has {}; it is cut short",
                                                   file.path().string(), file.bytes(), words * 4)};
  }
  SLUICE_RETURN_IF_ERROR(file.read(0, bytes));
  std::vector<std::int64_t> header;
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    header.push_back((std::int64_t{bytes[at]} << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]);
  }
  if (header[0] == magic) return header;
  return Error{ErrorCode::kBadInput,
               fmt::format("{} starts with {:#010x} where an idx file of this kind starts with {:#010x}; unpack it "
                           "first if it is compressed",
                           file.path().string(), header[0], magic)};
}

}  // namespace

Result<std::unique_ptr<ImageSet>> MnistImages::open(const std::filesystem::path& directory, const ImageShape& shape,
                                                    Split split) {
  const std::string prefix = split == Split::kTraining ? "train" : "t10k";
  constexpr std::string_view kHint = "give the directory that holds the four idx files, unpacked";
  SLUICE_ASSIGN(DataFile images, DataFile::open(directory / (prefix + "-images-idx3-ubyte"), "MNIST file", kHint));
  SLUICE_ASSIGN(DataFile labels, DataFile::open(directory / (prefix + "-labels-idx1-ubyte"), "MNIST file", kHint));
  SLUICE_ASSIGN(const auto image_header, read_header(images, 0x803, kImageHeader / 4));
  SLUICE_ASSIGN(const auto label_header, read_header(labels, 0x801, kLabelHeader / 4));
  const std::int64_t count = image_header[1];
  if (image_header[2] != kSize || image_header[3] != kSize || count < 1) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} has {} images of {} x {} pixels where some of 28 x 28 are expected",
                             images.path().string(), count, image_header[2], image_header[3])};
  }
  if (label_header[1] != count) {
    return Error{ErrorCode::kBadInput, fmt::format("{} has {} labels for the {} images of {}", labels.path().string(),
                                                   label_header[1], count, images.path().string())};
  }
  SLUICE_RETURN_IF_ERROR(images.check_size(kImageHeader + count * kPixels, fmt::format("{} images", count)));
  SLUICE_RETURN_IF_ERROR(labels.check_size(kLabelHeader + count, fmt::format("{} labels", count)));
  return std::unique_ptr<ImageSet>(new MnistImages(std::move(images), std::move(labels), count, shape));
}

Result<std::int32_t> MnistImages::read(std::int64_t sample, std::span<float> image) const {
  std::array<unsigned char, kPixels> pixels{};
  std::array<unsigned char, 1> label{};
  SLUICE_RETURN_IF_ERROR(images_.read(kImageHeader + sample * kPixels, pixels));
  SLUICE_RETURN_IF_ERROR(labels_.read(kLabelHeader + sample, label));
  if (label[0] > 9) {
    return Error{ErrorCode::kBadInput, fmt::format("label {} of {} is {}, but classes are 0 to 9; the file is damaged",
                                                   sample, labels_.path().string(), label[0])};
  }
  std::ranges::fill(image, -kMean / kDeviation);
  const std::int64_t top = (shape_.height - kSize) / 2;
  const std::int64_t left = (shape_.width - kSize) / 2;
  for (std::int64_t channel = 0; channel < shape_.channels; ++channel) {
    for (std::int64_t y = 0; y < kSize; ++y) {
      float* row = image.data() + (channel * shape_.height + top + y) * shape_.width + left;
      for (std::int64_t x = 0; x < kSize; ++x) {
        row[x] = (static_cast<float>(pixels[as_index(y * kSize + x)]) / 255 - kMean) / kDeviation;
      }
    }
  }
  return label[0];
}

}  // namespace sluice::data

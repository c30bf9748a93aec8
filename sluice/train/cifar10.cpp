#include "sluice/train/cifar10.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sluice/train/epoch_order.hpp"

namespace sluice {
namespace {

// Channel means and standard deviations of the 50,000 training images, pixels scaled to [0, 1].
constexpr std::array<float, 3> kMean{0.4914F, 0.4822F, 0.4465F};
constexpr std::array<float, 3> kDeviation{0.2470F, 0.2435F, 0.2616F};

std::filesystem::path file_path(const std::filesystem::path& directory, std::int64_t file) {
  return directory / fmt::format("data_batch_{}.bin", file + 1);
}

Result<int> open_batch_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("cannot open CIFAR-10 file {}: {}; give the directory that holds data_batch_1.bin to "
                             "data_batch_5.bin (the binary version of the set)",
                             path.string(), std::strerror(errno))};
  }
  struct stat info {};
  const bool known = ::fstat(descriptor, &info) == 0;
  constexpr std::int64_t kExpected = Cifar10Data::kRecordsPerFile * Cifar10Data::kRecordBytes;
  if (known && info.st_size == kExpected) return descriptor;
  ::close(descriptor);
  return Error{ErrorCode::kBadInput,
               fmt::format("CIFAR-10 file {} has {} bytes where {} are expected (10,000 records of 3,073); it is cut "
                           "short or not the binary version: fetch it again",
                           path.string(), known ? info.st_size : -1, kExpected)};
}

}  // namespace

Result<std::unique_ptr<Cifar10Data>> Cifar10Data::open(const std::filesystem::path& directory, std::int64_t batch,
                                                       std::uint64_t seed) {
  std::unique_ptr<Cifar10Data> data(new Cifar10Data(batch, seed));
  data->directory_ = directory;
  for (std::int64_t file = 0; file < kFiles; ++file) {
    SLUICE_ASSIGN(data->files_[static_cast<std::size_t>(file)], open_batch_file(file_path(directory, file)));
  }
  return data;
}

Cifar10Data::~Cifar10Data() {
  for (const int file : files_) {
    if (file >= 0) ::close(file);
  }
}

Status Cifar10Data::read_record(std::int64_t record, float* image, std::int32_t& label) const {
  std::array<unsigned char, kRecordBytes> bytes{};
  const std::int64_t file = record / kRecordsPerFile;
  const std::int64_t offset = record % kRecordsPerFile * kRecordBytes;
  const ssize_t got = ::pread(files_[static_cast<std::size_t>(file)], bytes.data(), bytes.size(), offset);
  if (got != kRecordBytes) {
    return Error{ErrorCode::kIo, fmt::format("reading record {} of {} gave {} of {} bytes: {}",
                                             record % kRecordsPerFile, file_path(directory_, file).string(), got,
                                             kRecordBytes, got < 0 ? std::strerror(errno) : "the file ended early")};
  }
  if (bytes[0] > 9) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("record {} of {} has label {}, but CIFAR-10 has classes 0 to 9; the file is damaged",
                             record % kRecordsPerFile, file_path(directory_, file).string(), bytes[0])};
  }
  label = bytes[0];
  constexpr std::size_t kPlane = 32 * 32;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const float scale = 1 / (255 * kDeviation[channel]);
    const float bias = -kMean[channel] / kDeviation[channel];
    for (std::size_t i = channel * kPlane; i < (channel + 1) * kPlane; ++i) {
      image[i] = static_cast<float>(bytes[1 + i]) * scale + bias;
    }
  }
  return {};
}

Status Cifar10Data::fill(std::int64_t step, std::span<float> images, std::span<std::int32_t> labels) {
  SLUICE_CHECK(static_cast<std::int64_t>(labels.size()) == batch_, "one label for each sample of the batch");
  SLUICE_CHECK(static_cast<std::int64_t>(images.size()) == batch_ * kPixels, "images are 3 x 32 x 32");
  for (std::int64_t i = 0; i < batch_; ++i) {
    const std::int64_t record = sample_at(seed_, step * batch_ + i, kFiles * kRecordsPerFile);
    SLUICE_RETURN_IF_ERROR(read_record(record, images.data() + i * kPixels, labels[static_cast<std::size_t>(i)]));
  }
  return {};
}

}  // namespace sluice

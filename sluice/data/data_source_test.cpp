#include "sluice/data/data_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/data/epoch_order.hpp"

namespace sluice::data {
namespace {

using ::testing::HasSubstr;

struct Batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

std::vector<InputTensor> image_inputs(std::int64_t batch, std::int64_t size, std::int64_t classes,
                                      std::int64_t channels = 3) {
  return {{"images", graph::Content::kImages, {batch, channels, size, size}, 0},
          {"labels", graph::Content::kLabels, {batch}, classes}};
}

std::unique_ptr<BatchSource> open(const std::string& text, const std::vector<InputTensor>& inputs,
                                  std::uint64_t seed = 1, Split split = Split::kTraining) {
  auto source = open_data_source(text, inputs, seed, split);
  EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().message);
  return source.ok() ? std::move(*source) : nullptr;
}

std::string open_error(const std::string& text, const std::vector<InputTensor>& inputs,
                       Split split = Split::kTraining) {
  const auto source = open_data_source(text, inputs, 1, split);
  return source.ok() ? "" : source.error().message;
}

Status fill(kernels::InputSource& source, std::int64_t step, Batch& batch) {
  const std::vector<std::span<std::byte>> spans{std::as_writable_bytes(std::span(batch.images)),
                                                std::as_writable_bytes(std::span(batch.labels))};
  return source.fill(step, spans);
}

Batch batch_at(kernels::InputSource& source, const std::vector<InputTensor>& inputs, std::int64_t step) {
  Batch batch{std::vector<float>(as_index(inputs[0].elements())),
              std::vector<std::int32_t>(as_index(inputs[1].elements()))};
  const Status status = fill(source, step, batch);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return batch;
}

TEST(SyntheticImagesTest, BatchDependsOnSeedAndStepAlone) {
  const auto inputs = image_inputs(8, 17, 10);  // an odd width: the last column has no partner
  const auto first = open("synthetic", inputs, 5);
  const Batch at_three = batch_at(*first, inputs, 3);
  batch_at(*first, inputs, 9);
  EXPECT_EQ(batch_at(*first, inputs, 3).images, at_three.images);
  const auto second = open("synthetic", inputs, 5);
  EXPECT_EQ(batch_at(*second, inputs, 3).images, at_three.images);
  EXPECT_EQ(batch_at(*second, inputs, 3).labels, at_three.labels);
  EXPECT_NE(batch_at(*second, inputs, 4).images, at_three.images);
  EXPECT_NE(batch_at(*open("synthetic", inputs, 6), inputs, 3).images, at_three.images);
}

TEST(SyntheticImagesTest, ThreadsDoNotChangeTheBits) {
  const auto inputs = image_inputs(8, 32, 10);
  const auto data = open("synthetic", inputs);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Batch one = batch_at(*data, inputs, 0);
  omp_set_num_threads(3);
  const Batch three = batch_at(*data, inputs, 0);
  omp_set_num_threads(before);
  EXPECT_EQ(one.images, three.images);
}

TEST(SyntheticImagesTest, ClassesCanBeToldApart) {
  const auto inputs = image_inputs(256, 16, 4);
  const Batch batch = batch_at(*open("synthetic", inputs, 2), inputs, 0);
  const auto size = as_index(inputs[0].sample_elements());
  std::vector<std::vector<double>> means(4, std::vector<double>(size));
  std::vector<int> counts(4);
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const auto label = as_index(batch.labels[i]);
    ASSERT_LT(label, 4U);
    ++counts[label];
    for (std::size_t p = 0; p < size; ++p) means[label][p] += static_cast<double>(batch.images[i * size + p]);
  }
  for (std::size_t label = 0; label < 4; ++label) {
    ASSERT_GT(counts[label], 20);
    for (double& value : means[label]) value /= counts[label];
  }
  for (std::size_t label = 1; label < 4; ++label) {
    double distance = 0;
    for (std::size_t p = 0; p < size; ++p) distance += std::pow(means[0][p] - means[label][p], 2);
    EXPECT_GT(distance / static_cast<double>(size), 0.1) << "class " << label;
  }
}

class CifarTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string("cifar10_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    for (int file = 1; file <= 5; ++file) resize(path(file), kRecordsPerFile * kRecordBytes);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path path(int file) const { return directory_ / ("data_batch_" + std::to_string(file) + ".bin"); }
  static void resize(const std::filesystem::path& file, std::int64_t bytes) {  // sparse: takes no disk space
    std::ofstream(file, std::ios::app).flush();
    std::filesystem::resize_file(file, static_cast<std::uintmax_t>(bytes));
  }
  void write_record(std::int64_t record, unsigned char label, unsigned char pixel) {
    std::fstream file(path(static_cast<int>(record / kRecordsPerFile) + 1),
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(record % kRecordsPerFile * kRecordBytes);
    std::vector<char> bytes(kRecordBytes, static_cast<char>(pixel));
    bytes[0] = static_cast<char>(label);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string data() const { return "cifar10:" + directory_.string(); }

  static constexpr std::int64_t kRecordsPerFile = 10'000;
  static constexpr std::int64_t kRecordBytes = 3073;
  const std::vector<InputTensor> inputs_ = image_inputs(4, 32, 10);
  std::filesystem::path directory_;
};

TEST_F(CifarTest, ReadsAndNormalisesTheRecordOfEachPosition) {
  const std::int64_t record = sample_at(1, 4 * 7 + 2, 50'000);
  write_record(record, 6, 255);
  const Batch batch = batch_at(*open(data(), inputs_), inputs_, 7);
  EXPECT_THAT(batch.labels, ::testing::ElementsAre(0, 0, 6, 0));
  EXPECT_NEAR(batch.images[2 * 3072], (1 - 0.4914F) / 0.2470F, 1e-5);
  EXPECT_NEAR(batch.images[2 * 3072 + 3071], (1 - 0.4465F) / 0.2616F, 1e-5);
  EXPECT_NEAR(batch.images[0], -0.4914F / 0.2470F, 1e-5);
}

TEST_F(CifarTest, NamesATruncatedFile) {
  resize(path(3), 30'729'999);
  EXPECT_THAT(open_error(data(), inputs_), HasSubstr("data_batch_3.bin has 30729999 bytes where 30730000"));
}

TEST_F(CifarTest, NamesAMissingFile) {
  std::filesystem::remove(path(5));
  EXPECT_THAT(open_error(data(), inputs_), HasSubstr("data_batch_5.bin: No such file"));
  std::filesystem::remove_all(directory_);
  EXPECT_THAT(open_error(data(), inputs_), HasSubstr("data_batch_1.bin: No such file"));
}

TEST_F(CifarTest, ReportsAFileThatShrinksOrHoldsAWrongLabel) {
  const auto source = open(data(), inputs_);
  Batch batch{std::vector<float>(4 * 3072), std::vector<std::int32_t>(4)};
  write_record(sample_at(1, 0, 50'000), 10, 0);
  Status status = fill(*source, 0, batch);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("has label 10"));
  for (int file = 1; file <= 5; ++file) resize(path(file), 100);
  status = fill(*source, 1, batch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
}

TEST_F(CifarTest, ValidationGoesThroughTheTestFileInOrder) {
  EXPECT_THAT(open_error(data(), inputs_, Split::kValidation), HasSubstr("test_batch.bin: No such file"));
  resize(directory_ / "test_batch.bin", kRecordsPerFile * kRecordBytes);
  std::fstream(directory_ / "test_batch.bin", std::ios::binary | std::ios::in | std::ios::out)
      .seekp(5 * kRecordBytes)
      .put(7);
  const auto source = open(data(), inputs_, 1, Split::kValidation);
  EXPECT_EQ(source->sample_count(), 10'000);
  EXPECT_THAT(batch_at(*source, inputs_, 1).labels, ::testing::ElementsAre(0, 7, 0, 0));
  EXPECT_THAT(batch_at(*source, inputs_, 2501).labels, ::testing::ElementsAre(0, 7, 0, 0)) << "then again";
}

TEST_F(CifarTest, HundredUsesTheFineLabel) {
  const auto inputs = image_inputs(4, 32, 100);
  const std::string hundred = "cifar100:" + directory_.string();
  resize(directory_ / "test.bin", 10'000 * std::int64_t{3074} - 1);
  EXPECT_THAT(open_error(hundred, inputs, Split::kValidation), HasSubstr("test.bin has 30739999 bytes where 30740000"));
  resize(directory_ / "test.bin", 10'000 * std::int64_t{3074});
  std::fstream(directory_ / "test.bin", std::ios::binary | std::ios::in | std::ios::out)
      .seekp(2 * 3074)
      .put(19)
      .put(99);
  EXPECT_THAT(batch_at(*open(hundred, inputs, 1, Split::kValidation), inputs, 0).labels,
              ::testing::ElementsAre(0, 0, 99, 0));
  EXPECT_THAT(open_error(hundred, inputs_), HasSubstr("--classes 100"));
}

class MnistTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kImages = 6;

  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string("mnist_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    write("t10k-images-idx3-ubyte", {0x803, kImages, 28, 28}, kImages * 784, 255);
    write("t10k-labels-idx1-ubyte", {0x801, kImages}, kImages, 3);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::vector<std::int64_t>& header, std::int64_t bytes, int value) {
    std::ofstream file(directory_ / name, std::ios::binary);
    for (const std::int64_t word : header) {
      for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(word >> shift));
    }
    for (std::int64_t i = 0; i < bytes; ++i) file.put(static_cast<char>(value));
  }
  std::string data() const { return "mnist:" + directory_.string(); }
  std::string error(std::int64_t size = 32) {
    return open_error(data(), image_inputs(2, size, 10), Split::kValidation);
  }

  std::filesystem::path directory_;
};

TEST_F(MnistTest, PutsTheImageInTheMiddleOfEveryChannel) {
  const auto inputs = image_inputs(2, 32, 10);
  const Batch batch = batch_at(*open(data(), inputs, 1, Split::kValidation), inputs, 0);
  EXPECT_THAT(batch.labels, ::testing::ElementsAre(3, 3));
  const float black = -0.1307F / 0.3081F;
  const float white = (1 - 0.1307F) / 0.3081F;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const float* plane = batch.images.data() + channel * 1024;
    EXPECT_FLOAT_EQ(plane[1 * 32 + 16], black);
    EXPECT_FLOAT_EQ(plane[2 * 32 + 1], black);
    EXPECT_FLOAT_EQ(plane[2 * 32 + 2], white);
    EXPECT_FLOAT_EQ(plane[29 * 32 + 29], white);
    EXPECT_FLOAT_EQ(plane[29 * 32 + 30], black);
  }
  const auto grey = image_inputs(2, 28, 10, 1);
  EXPECT_FLOAT_EQ(batch_at(*open(data(), grey, 1, Split::kValidation), grey, 0).images[0], white);
}

TEST_F(MnistTest, RefusesFilesOfAnotherKindOrLength) {
  EXPECT_THAT(error(64), HasSubstr("--image-size 32"));
  EXPECT_THAT(open_error(data(), image_inputs(2, 32, 10)), HasSubstr("train-images-idx3-ubyte: No such file"));
  write("t10k-images-idx3-ubyte", {0x803, kImages, 28, 28}, kImages * 784 - 1, 0);
  EXPECT_THAT(error(), HasSubstr("t10k-images-idx3-ubyte has 4719 bytes where 4720"));
  write("t10k-images-idx3-ubyte", {0x803, kImages, 14, 56}, kImages * 784, 0);
  EXPECT_THAT(error(), HasSubstr("14 x 56 pixels"));
  write("t10k-images-idx3-ubyte", {0x1f8b0808, kImages, 28, 28}, kImages * 784, 0);
  EXPECT_THAT(error(), HasSubstr("starts with 0x1f8b0808"));
  write("t10k-images-idx3-ubyte", {0x803}, 0, 0);
  EXPECT_THAT(error(), HasSubstr("cut short"));
  write("t10k-images-idx3-ubyte", {0x803, kImages, 28, 28}, kImages * 784, 0);
  write("t10k-labels-idx1-ubyte", {0x801, kImages - 1}, kImages - 1, 0);
  EXPECT_THAT(error(), HasSubstr("5 labels for the 6 images"));
}

TEST(DataSourceTest, RefusesUnknownNamesAndWrongShapes) {
  EXPECT_THAT(open_error("imagenet", image_inputs(1, 32, 10)), HasSubstr("unknown data 'imagenet'"));
  EXPECT_THAT(open_error("cifar10:", image_inputs(1, 32, 10)), HasSubstr("unknown data 'cifar10:'"));
  EXPECT_THAT(open_error("cifar10:/nowhere", image_inputs(1, 224, 10)), HasSubstr("--image-size 32"));
  EXPECT_THAT(open_error("tokens:/nowhere", image_inputs(1, 32, 10)), HasSubstr("take a language model"));
}

}  // namespace
}  // namespace sluice::data

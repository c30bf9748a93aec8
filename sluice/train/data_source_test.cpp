#include "sluice/train/data_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "sluice/train/cifar10.hpp"
#include "sluice/train/epoch_order.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

struct Batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

Batch batch_at(InputSource& source, const ImageSetShape& shape, std::int64_t step) {
  Batch batch{std::vector<float>(static_cast<std::size_t>(shape.batch * shape.sample_floats())),
              std::vector<std::int32_t>(static_cast<std::size_t>(shape.batch))};
  const Status status = source.fill(step, batch.images, batch.labels);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return batch;
}

TEST(SyntheticDataTest, BatchDependsOnSeedAndStepAlone) {
  const ImageSetShape shape{8, 3, 17, 10};  // an odd width: the last column has no partner
  SyntheticData first(shape, 5);
  const Batch at_three = batch_at(first, shape, 3);
  batch_at(first, shape, 9);
  EXPECT_EQ(batch_at(first, shape, 3).images, at_three.images);
  SyntheticData second(shape, 5);
  EXPECT_EQ(batch_at(second, shape, 3).images, at_three.images);
  EXPECT_EQ(batch_at(second, shape, 3).labels, at_three.labels);
  EXPECT_NE(batch_at(second, shape, 4).images, at_three.images);
  SyntheticData other_seed(shape, 6);
  EXPECT_NE(batch_at(other_seed, shape, 3).images, at_three.images);
}

TEST(SyntheticDataTest, ThreadsDoNotChangeTheBits) {
  const ImageSetShape shape{8, 3, 32, 10};
  SyntheticData data(shape, 1);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Batch one = batch_at(data, shape, 0);
  omp_set_num_threads(3);
  const Batch three = batch_at(data, shape, 0);
  omp_set_num_threads(before);
  EXPECT_EQ(one.images, three.images);
}

TEST(SyntheticDataTest, ClassesCanBeToldApart) {
  const ImageSetShape shape{256, 3, 16, 4};
  SyntheticData data(shape, 2);
  const Batch batch = batch_at(data, shape, 0);
  const auto size = static_cast<std::size_t>(shape.sample_floats());
  std::vector<std::vector<double>> means(4, std::vector<double>(size));
  std::vector<int> counts(4);
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(batch.labels[i]);
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

class Cifar10Test : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string("cifar10_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    for (int file = 1; file <= 5; ++file) resize(file, Cifar10Data::kRecordsPerFile * Cifar10Data::kRecordBytes);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path path(int file) const { return directory_ / ("data_batch_" + std::to_string(file) + ".bin"); }
  void resize(int file, std::int64_t bytes) {  // sparse: zeros without taking disk space
    std::ofstream(path(file), std::ios::app).flush();
    std::filesystem::resize_file(path(file), static_cast<std::uintmax_t>(bytes));
  }
  void write_record(std::int64_t record, unsigned char label, unsigned char pixel) {
    std::fstream file(path(static_cast<int>(record / Cifar10Data::kRecordsPerFile) + 1),
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(record % Cifar10Data::kRecordsPerFile * Cifar10Data::kRecordBytes);
    std::vector<char> bytes(Cifar10Data::kRecordBytes, static_cast<char>(pixel));
    bytes[0] = static_cast<char>(label);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string open_error() {
    auto data = open_data_source("cifar10:" + directory_.string(), kShape, 1);
    return data.ok() ? "" : data.error().message;
  }

  static constexpr ImageSetShape kShape{4, 3, 32, 10};
  std::filesystem::path directory_;
};

TEST_F(Cifar10Test, ReadsAndNormalisesTheRecordOfEachPosition) {
  const std::int64_t record = sample_at(1, 4 * 7 + 2, 50'000);
  write_record(record, 6, 255);
  auto data = open_data_source("cifar10:" + directory_.string(), kShape, 1);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const Batch batch = batch_at(**data, kShape, 7);
  EXPECT_THAT(batch.labels, ::testing::ElementsAre(0, 0, 6, 0));
  EXPECT_NEAR(batch.images[2 * 3072], (1 - 0.4914F) / 0.2470F, 1e-5);
  EXPECT_NEAR(batch.images[2 * 3072 + 3071], (1 - 0.4465F) / 0.2616F, 1e-5);
  EXPECT_NEAR(batch.images[0], -0.4914F / 0.2470F, 1e-5);
}

TEST_F(Cifar10Test, NamesATruncatedFile) {
  resize(3, 30'729'999);
  EXPECT_THAT(open_error(), HasSubstr("data_batch_3.bin has 30729999 bytes where 30730000"));
}

TEST_F(Cifar10Test, NamesAMissingFile) {
  std::filesystem::remove(path(5));
  EXPECT_THAT(open_error(), HasSubstr("data_batch_5.bin: No such file"));
  std::filesystem::remove_all(directory_);
  EXPECT_THAT(open_error(), HasSubstr("data_batch_1.bin: No such file"));
}

TEST_F(Cifar10Test, ReportsAFileThatShrinksOrHoldsAWrongLabel) {
  auto data = open_data_source("cifar10:" + directory_.string(), kShape, 1);
  ASSERT_TRUE(data.ok());
  std::vector<float> images(4 * 3072);
  std::vector<std::int32_t> labels(4);
  write_record(sample_at(1, 0, 50'000), 10, 0);
  Status status = (*data)->fill(0, images, labels);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("has label 10"));
  for (int file = 1; file <= 5; ++file) resize(file, 100);
  status = (*data)->fill(1, images, labels);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
}

TEST(DataSourceTest, RefusesUnknownNamesAndWrongShapes) {
  const auto unknown = open_data_source("imagenet", {1, 3, 32, 10}, 1);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("unknown data 'imagenet'"));
  const auto wrong = open_data_source("cifar10:/nowhere", {1, 3, 224, 10}, 1);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("--image-size 32"));
}

}  // namespace
}  // namespace sluice

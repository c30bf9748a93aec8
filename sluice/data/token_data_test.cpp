// Text and synthetic language as batches of tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "sluice/data/data_source.hpp"

namespace sluice::data {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kSequence = 16;

InputTensor ids(const char* name, graph::Content content, std::int64_t bound) {
  return {name, content, {kBatch, kSequence}, bound};
}

std::vector<InputTensor> next_token_inputs(std::int64_t vocabulary) {
  return {ids("tokens", graph::Content::kTokens, vocabulary), ids("next", graph::Content::kNextTokens, vocabulary)};
}

std::vector<InputTensor> masked_inputs(std::int64_t vocabulary) {
  return {ids("masked", graph::Content::kMaskedTokens, vocabulary), ids("segments", graph::Content::kSegments, 2),
          ids("hidden", graph::Content::kHiddenTokens, vocabulary)};
}

using TokenBatch = std::vector<std::vector<std::int32_t>>;

TokenBatch batch_at(kernels::InputSource& source, std::size_t tensors, std::int64_t step) {
  TokenBatch batch(tensors, std::vector<std::int32_t>(kBatch * kSequence));
  std::vector<std::span<std::byte>> spans;
  for (auto& values : batch) spans.push_back(std::as_writable_bytes(std::span(values)));
  const Status status = source.fill(step, spans);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return batch;
}

std::unique_ptr<BatchSource> open_text(const std::string& text, const std::vector<InputTensor>& inputs,
                                       Split split = Split::kTraining) {
  auto source = open_data_source(text, inputs, 3, split);
  EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().message);
  return source.ok() ? std::move(*source) : nullptr;
}

TEST(SyntheticLanguageTest, NextTokensFollowTokens) {
  const auto source = open_text("synthetic", next_token_inputs(100));
  const TokenBatch batch = batch_at(*source, 2, 5);
  EXPECT_EQ(batch, batch_at(*source, 2, 5));
  EXPECT_NE(batch, batch_at(*source, 2, 6));
  for (std::size_t row = 0; row < kBatch; ++row) {
    for (std::size_t i = 0; i + 1 < kSequence; ++i) {
      EXPECT_EQ(batch[1][row * kSequence + i], batch[0][row * kSequence + i + 1]);
    }
  }
  for (const std::int32_t token : batch[1]) EXPECT_THAT(token, ::testing::AllOf(::testing::Ge(0), ::testing::Lt(100)));
}

TEST(SyntheticLanguageTest, KnowingTheLastTokenHelps) {
  const auto source = open_text("synthetic", next_token_inputs(50));
  std::map<std::int32_t, std::map<std::int32_t, int>> successors;
  for (std::int64_t step = 0; step < 200; ++step) {
    const TokenBatch batch = batch_at(*source, 2, step);
    for (std::size_t i = 0; i < batch[0].size(); ++i) ++successors[batch[0][i]][batch[1][i]];
  }
  double entropy = 0;
  double total = 0;
  for (const auto& [token, counts] : successors) {
    double sum = 0;
    for (const auto& [next, count] : counts) sum += count;
    for (const auto& [next, count] : counts) entropy -= count * std::log(count / sum);
    total += sum;
  }
  EXPECT_LT(entropy / total, 0.6 * std::log(50.0));
}

TEST(BatchSourceTest, HidesFifteenPercentOfTheTokens) {
  const std::int64_t vocabulary = 64;
  const auto source = open_text("synthetic", masked_inputs(vocabulary));
  const auto plain = open_text("synthetic", {ids("tokens", graph::Content::kTokens, vocabulary - 1)});
  int hidden = 0;
  const int steps = 200;
  for (int step = 0; step < steps; ++step) {
    const TokenBatch batch = batch_at(*source, 3, step);
    const TokenBatch tokens = batch_at(*plain, 1, step);
    for (std::size_t i = 0; i < batch[0].size(); ++i) {
      const bool hides = batch[0][i] == vocabulary - 1;
      EXPECT_EQ(batch[2][i], hides ? tokens[0][i] : -1);
      EXPECT_TRUE(hides || batch[0][i] == tokens[0][i]);
      hidden += hides ? 1 : 0;
    }
    for (std::size_t row = 0; row < kBatch; ++row) {
      const auto first = batch[2].begin() + static_cast<std::ptrdiff_t>(row * kSequence);
      EXPECT_TRUE(std::any_of(first, first + kSequence, [](std::int32_t label) { return label >= 0; }));
    }
  }
  const double share = hidden / static_cast<double>(steps * kBatch * kSequence);
  EXPECT_NEAR(share, 0.15 + 0.85 / kSequence, 0.01);  // one of each sequence always
}

TEST(BatchSourceTest, SegmentsChangeOnce) {
  const TokenBatch batch = batch_at(*open_text("synthetic", masked_inputs(64)), 3, 0);
  for (std::size_t row = 0; row < kBatch; ++row) {
    const auto first = batch[1].begin() + static_cast<std::ptrdiff_t>(row * kSequence);
    EXPECT_TRUE(std::is_sorted(first, first + kSequence));
    EXPECT_EQ(*(first + kSequence - 1), 1);
  }
}

TEST(BatchSourceTest, NoiseIsNormalAndOfItsStep) {
  const std::vector<InputTensor> inputs{{"z", graph::Content::kNoise, {64, 100}, 0}};
  const auto source = open_text("synthetic", inputs);
  std::vector<float> noise(6400);
  const std::vector<std::span<std::byte>> spans{std::as_writable_bytes(std::span(noise))};
  ASSERT_TRUE(source->fill(0, spans).ok());
  double sum = 0;
  double squares = 0;
  for (const float value : noise) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(sum / 6400, 0, 0.05);
  EXPECT_NEAR(squares / 6400, 1, 0.06);
  const std::vector<float> first = noise;
  ASSERT_TRUE(source->fill(1, spans).ok());
  EXPECT_NE(noise, first);
  ASSERT_TRUE(source->fill(0, spans).ok());
  EXPECT_EQ(noise, first);
}

class TextTest : public ::testing::Test {
 protected:
  TextTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                (std::string("text_") + ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~TextTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::string error(std::int64_t vocabulary = 256, Split split = Split::kTraining) {
    const auto source = open_data_source("tokens:" + folder_.string(), next_token_inputs(vocabulary), 1, split);
    return source.ok() ? "" : source.error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(TextTest, WindowsRunAcrossFilesInTheOrderOfTheirNames) {
  std::string all;
  for (int i = 0; i < 1700; ++i) all += static_cast<char>('a' + i % 26);
  write("2.txt", all.substr(700));
  write("1.txt", all.substr(0, 700));
  const auto source = open_text("tokens:" + folder_.string(), next_token_inputs(256), Split::kValidation);
  EXPECT_EQ(source->sample_count(), (170 - 1) / kSequence);
  const TokenBatch batch = batch_at(*source, 2, 0);
  for (std::size_t i = 0; i < batch[0].size(); ++i) {
    EXPECT_EQ(batch[0][i], all[1530 + i]);
    EXPECT_EQ(batch[1][i], all[1530 + i + 1]);
  }
  const auto training = open_text("tokens:" + folder_.string(), next_token_inputs(300));
  EXPECT_EQ(training->sample_count(), (1530 - 1) / kSequence);
  std::set<std::int32_t> starts;
  for (std::int64_t step = 0; step < 24; ++step) {
    const TokenBatch shuffled = batch_at(*training, 2, step);
    for (std::size_t i = 1; i < kSequence; ++i) EXPECT_EQ(shuffled[0][i], 'a' + (shuffled[0][i - 1] - 'a' + 1) % 26);
  }
}

TEST_F(TextTest, RefusesWhatIsNotEnoughText) {
  EXPECT_THAT(error(), HasSubstr("has 0 bytes of text"));
  write("short.txt", std::string(100, 'x'));
  EXPECT_EQ(error(), "");
  EXPECT_THAT(error(256, Split::kValidation), HasSubstr("of which 10 are for validation; one sequence takes 17"));
  EXPECT_THAT(error(255), HasSubstr("--classes 256"));
  write("picture.png", std::string("PNG\0\0", 5));
  EXPECT_THAT(error(), HasSubstr("picture.png is not text: byte 3 is zero"));
  std::filesystem::remove_all(folder_);
  EXPECT_THAT(error(), HasSubstr("No such file"));
}

TEST_F(TextTest, MaskNeedsATokenOfItsOwn) {
  write("text.txt", std::string(1000, 'x'));
  const auto with = [&](std::int64_t vocabulary) {
    const auto source = open_data_source("tokens:" + folder_.string(), masked_inputs(vocabulary), 1);
    return source.ok() ? "" : source.error().message;
  };
  EXPECT_THAT(with(256), HasSubstr("--classes 257"));
  EXPECT_EQ(with(257), "");
}

}  // namespace
}  // namespace sluice::data

#include "sluice/profile/profile_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sluice/base/json_reader.hpp"
#include "sluice/memory/requests.hpp"

namespace sluice::profile {
namespace {

using ::testing::HasSubstr;

class ProfileCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("sluice_profile_cache_" + std::to_string(::getpid()) + "_" +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

const OpMeasurement kConv{.warm = {.median = 0.002, .min = 0.001, .max = 0.003, .samples = 5},
                          .cold = {.median = 0.004, .min = 0.003, .max = 0.005, .samples = 5}};
const OpConfigurations kPlaced{{.slow = 0, .timing = kConv.warm}, {.slow = 5, .timing = kConv.cold}};

memory::Tier slow_tier(BytesPerSecond write_bandwidth) {
  return {
      .name = "optane", .kind = memory::TierKind::kEmulated, .read_bandwidth = 2e9, .write_bandwidth = write_bandwidth};
}
const LinkMeasurement kDisk{
    .bandwidth = 2e9, .latency = 1e-4, .request_bytes = 4 * kMiB, .queue_depth = 16, .shared_bandwidth = 1e9};

TEST_F(ProfileCacheTest, KeepsMeasurementsBetweenRuns) {
  ProfileCache first = ProfileCache::open("cpu A", folder_);
  EXPECT_FALSE(first.find_op("conv"));
  first.put_op("conv", kConv);
  first.put_link("dram->file", kDisk);
  ASSERT_TRUE(first.save().ok());

  const ProfileCache second = ProfileCache::open("cpu A", folder_);
  EXPECT_EQ(second.find_op("conv"), kConv);
  EXPECT_EQ(second.find_link("dram->file"), kDisk);
  EXPECT_TRUE(second.notes().empty());
}

TEST_F(ProfileCacheTest, KeepsWhatEncodingWouldDoOfEachGraphApart) {
  const EncodingFigures figures{.encoded_bytes = {0, 4096, 8192}, .zero_value = {3e9, 2e9}, .narrow = {4e9, 1e9}};
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  EXPECT_EQ(cache.find_encodings("graph"), nullptr);
  cache.put_encodings("graph", figures);
  ASSERT_TRUE(cache.save().ok());
  const ProfileCache reopened = ProfileCache::open("cpu A", folder_);
  EXPECT_TRUE(reopened.notes().empty());
  ASSERT_NE(reopened.find_encodings("graph"), nullptr);
  EXPECT_EQ(*reopened.find_encodings("graph"), figures);
  EXPECT_EQ(reopened.find_encodings("another"), nullptr);
}

TEST_F(ProfileCacheTest, KeepsHowAnOpWasMeasuredAndWhatItDoes) {
  const OpMeasurement in_steps{.warm = kConv.warm, .in_steps = true, .work = {.flops = 1e9, .bytes = 5e6}};
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  cache.put_op("conv", in_steps);
  ASSERT_TRUE(cache.save().ok());
  EXPECT_EQ(ProfileCache::open("cpu A", folder_).find_op("conv"), in_steps);
}

// The former release kept warm and cold times alone.
TEST_F(ProfileCacheTest, ReadsACacheThatSaysNothingOfThat) {
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  cache.put_op("conv", kConv);
  ASSERT_TRUE(cache.save().ok());
  nlohmann::json document = nlohmann::json::parse(std::ifstream(cache.path()));
  for (const char* key : {"measured", "flops", "bytes"}) document["ops"]["conv"].erase(key);
  document.erase("encodings");
  std::ofstream(cache.path()) << document;
  const ProfileCache reopened = ProfileCache::open("cpu A", folder_);
  EXPECT_TRUE(reopened.notes().empty());
  EXPECT_EQ(reopened.find_op("conv"), kConv);
}

TEST_F(ProfileCacheTest, KeepsTimesByPlacementOfEachTierApart) {
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  cache.put_placement("conv", slow_tier(1e9), kPlaced);
  ASSERT_TRUE(cache.save().ok());
  const ProfileCache reopened = ProfileCache::open("cpu A", folder_);
  EXPECT_TRUE(reopened.notes().empty());
  ASSERT_NE(reopened.find_placement("conv", slow_tier(1e9)), nullptr);
  EXPECT_EQ(*reopened.find_placement("conv", slow_tier(1e9)), kPlaced);
  EXPECT_EQ(reopened.find_placement("conv", slow_tier(2e9)), nullptr) << "a tier of other figures";
  EXPECT_EQ(reopened.find_placement("dense", slow_tier(1e9)), nullptr);
}

TEST_F(ProfileCacheTest, MeasuresAgainWhatAnOlderFormatKnew) {
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  std::filesystem::create_directories(folder_);
  std::ofstream(cache.path()) << R"({"version": 1, "ops": {"conv": {"median_seconds": 1, "min_seconds": 1,
      "max_seconds": 1, "samples": 5}}, "links": {}})";
  ProfileCache reopened = ProfileCache::open("cpu A", folder_);
  EXPECT_FALSE(reopened.find_op("conv"));
  ASSERT_EQ(reopened.notes().size(), 1u);
  EXPECT_NE(reopened.notes()[0].find("format version 1, this sluice has 4: measuring again"), std::string::npos);
}

TEST_F(ProfileCacheTest, KeepsBandwidthsOfTiersThatHaveNoRequests) {
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  cache.put_link("tier 0 read", {.bandwidth = 5e9});
  ASSERT_TRUE(cache.save().ok());
  const ProfileCache reopened = ProfileCache::open("cpu A", folder_);
  EXPECT_TRUE(reopened.notes().empty());
  EXPECT_EQ(reopened.find_link("tier 0 read")->bandwidth, 5e9);
}

TEST_F(ProfileCacheTest, KeepsMachinesApart) {
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  cache.put_op("conv", kConv);
  ASSERT_TRUE(cache.save().ok());
  EXPECT_FALSE(ProfileCache::open("cpu B", folder_).find_op("conv"));
}

TEST_F(ProfileCacheTest, TwoWritersKeepBothResults) {
  ProfileCache first = ProfileCache::open("cpu A", folder_);
  ProfileCache second = ProfileCache::open("cpu A", folder_);
  first.put_op("conv", kConv);
  second.put_op("dense", kConv);
  ASSERT_TRUE(first.save().ok());
  ASSERT_TRUE(second.save().ok());
  const ProfileCache third = ProfileCache::open("cpu A", folder_);
  EXPECT_TRUE(third.find_op("conv"));
  EXPECT_TRUE(third.find_op("dense"));
}

TEST_F(ProfileCacheTest, ReportsAndReplacesACorruptFile) {
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  cache.put_op("conv", kConv);
  ASSERT_TRUE(cache.save().ok());
  const auto size = std::filesystem::file_size(cache.path());
  std::filesystem::resize_file(cache.path(), size / 2);

  ProfileCache reopened = ProfileCache::open("cpu A", folder_);
  EXPECT_FALSE(reopened.find_op("conv"));
  ASSERT_EQ(reopened.notes().size(), 1u);
  EXPECT_NE(reopened.notes()[0].find(cache.path().string()), std::string::npos);
  reopened.put_op("dense", kConv);
  ASSERT_TRUE(reopened.save().ok());
  const ProfileCache repaired = ProfileCache::open("cpu A", folder_);
  EXPECT_TRUE(repaired.notes().empty());
  EXPECT_TRUE(repaired.find_op("dense"));
}

TEST_F(ProfileCacheTest, IgnoresNonsenseAndSaysWhere) {
  const auto note_of = [&](const std::string& pointer, const nlohmann::json& value) {
    ProfileCache cache = ProfileCache::open("cpu " + pointer, folder_);
    cache.put_op("conv", kConv);
    cache.put_link("up", {.bandwidth = 1e9});
    cache.put_placement("conv", slow_tier(1e9), kPlaced);
    EXPECT_TRUE(cache.save().ok());
    std::ifstream file(cache.path());
    nlohmann::json document = nlohmann::json::parse(file);
    document[nlohmann::json::json_pointer(pointer)] = value;
    std::ofstream(cache.path()) << document;
    const ProfileCache reopened = ProfileCache::open("cpu " + pointer, folder_);
    EXPECT_FALSE(reopened.find_op("conv"));
    EXPECT_EQ(reopened.notes().size(), 1u);
    return reopened.notes().empty() ? std::string() : reopened.notes()[0];
  };
  EXPECT_THAT(note_of("/ops/conv/warm/median_seconds", -1), HasSubstr("/ops/conv/warm/median_seconds: expected"));
  EXPECT_THAT(note_of("/ops/conv/cold/samples", "five"), HasSubstr("/ops/conv/cold/samples: expected a whole number"));
  EXPECT_THAT(note_of("/links/up/queue_depth", -1), HasSubstr("/links/up/request_bytes: no requests"));
  EXPECT_THAT(note_of("/links", nlohmann::json::array()), HasSubstr("/links: expected an object"));
  EXPECT_THAT(note_of("/version", nullptr), HasSubstr("/version: expected a whole number"));
  EXPECT_THAT(note_of("/placements/dense", nlohmann::json::array()), HasSubstr("/placements: no time in fast memory"));
}

// Every number of a cache, as each of the numbers that a damaged one may hold: nothing that is read is reckoned with
// and gives no number.
TEST_F(ProfileCacheTest, WhateverItsNumbersAreWhatIsReadCanBeReckonedWith) {
  ProfileCache whole = ProfileCache::open("cpu A", folder_);
  whole.put_op("conv",
               {.warm = kConv.warm, .cold = kConv.cold, .in_steps = true, .work = {.flops = 1e9, .bytes = 5e6}});
  whole.put_link("up", kDisk);
  whole.put_placement("conv", slow_tier(1e9), kPlaced);
  ASSERT_TRUE(whole.save().ok());
  const nlohmann::json sound = nlohmann::json::parse(std::ifstream(whole.path()));
  const nlohmann::json flat = sound.flatten();
  int ignored = 0;
  for (const auto& [pointer, value] : flat.items()) {
    if (!value.is_number() || pointer == "/version") continue;
    for (const nlohmann::json& wrong :
         {nlohmann::json(0), nlohmann::json(-1), nlohmann::json(1e308), nlohmann::json(5e-324), nlohmann::json(4097),
          nlohmann::json(2147483647), nlohmann::json(INT64_MAX), nlohmann::json(UINT64_MAX), nlohmann::json(nullptr)}) {
      SCOPED_TRACE(pointer + " is " + wrong.dump());
      nlohmann::json document = sound;
      document[nlohmann::json::json_pointer(pointer)] = wrong;
      std::ofstream(whole.path()) << document;
      const ProfileCache reopened = ProfileCache::open("cpu A", folder_);
      ignored += reopened.notes().empty() ? 0 : 1;
      for (const auto& [signature, op] : reopened.ops()) {
        EXPECT_GT(op.warm.median, 0);
        EXPECT_LE(op.warm.min, op.warm.median);
        EXPECT_LE(op.warm.median, op.warm.max);
        EXPECT_LE(op.warm.max, kMostFigure);
      }
      const auto link = reopened.find_link("up");
      EXPECT_TRUE(!link || link->is_of_tier() || memory::are_requests(link->request_bytes, link->queue_depth));
      EXPECT_TRUE(!link || link->is_of_tier() || link->bandwidth > 0);
    }
  }
  EXPECT_GT(ignored, 100);
}

TEST_F(ProfileCacheTest, IsIgnoredWhateverLiesInItsPlace) {
  std::filesystem::create_directories(folder_);
  const std::filesystem::path path = ProfileCache::path_for("cpu A", folder_);
  const auto notes_of = [&] { return ProfileCache::open("cpu A", folder_).notes(); };
  for (const std::string& text : {std::string(), std::string("{"), std::string("null"), std::string(100'000, '['),
                                  std::string(1000, '\0'), std::string("\xff\xfe")}) {
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_THAT(notes_of(), ::testing::SizeIs(1)) << text.substr(0, 10);
  }
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_THAT(notes_of(), ::testing::SizeIs(1)) << "a folder";
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  cache.put_op("conv", kConv);
  EXPECT_FALSE(cache.save().ok());
  EXPECT_TRUE(cache.find_op("conv")) << "this run goes by what it has";
}

TEST_F(ProfileCacheTest, SaveSaysWhereItCannotWrite) {
  std::ofstream(folder_.string()) << "a file where the folder should be";
  ProfileCache cache = ProfileCache::open("cpu A", folder_);
  const Status saved = cache.save();
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_NE(saved.error().message.find(folder_.string()), std::string::npos);
}

}  // namespace
}  // namespace sluice::profile

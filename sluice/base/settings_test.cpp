#include "sluice/base/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

enum class Colour { kRed, kBlue };

struct PaintConfig {
  double share = 0.5;
  int coats = 2;
  bool dry = true;
  Colour colour = Colour::kBlue;
  Bytes tin = 4 * kKiB;
};

const Settings& paint_settings() {
  static const Settings all{PaintConfig{},
                            {setting<&PaintConfig::share>({.name = "share", .least = 0, .most = 1}),
                             setting<&PaintConfig::coats>({.name = "coats", .least = 1, .most = 9}),
                             setting<&PaintConfig::dry>({.name = "dry"}),
                             setting<&PaintConfig::colour>({.name = "colour", .words = {"red", "blue"}}),
                             setting<&PaintConfig::tin>({.name = "tin", .least = 1, .most = 1e9, .size = true})}};
  return all;
}

TEST(Settings, SetMembersOfTheirStruct) {
  std::any config = paint_settings().defaults;
  for (const WrittenSetting& each : settings_in("paint:share=0.25:coats=7:dry=0:colour=red:tin=2MiB")) {
    const Setting* row = paint_settings().find(each.name);
    ASSERT_NE(row, nullptr) << each.name;
    row->set(config, row->read(*each.value).value());
  }
  const auto& paint = std::any_cast<const PaintConfig&>(config);
  EXPECT_EQ(paint.share, 0.25);
  EXPECT_EQ(paint.coats, 7);
  EXPECT_FALSE(paint.dry);
  EXPECT_EQ(paint.colour, Colour::kRed);
  EXPECT_EQ(paint.tin, 2 * kMiB);
}

TEST(Settings, AreWrittenAsTheyAreRead) {
  std::vector<std::string> texts;
  for (const Setting& each : paint_settings().rows) texts.push_back(text_of(each, paint_settings().defaults));
  EXPECT_EQ(texts, (std::vector<std::string>{"0.5", "2", "1", "blue", "4096"}));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Setting& row = paint_settings().rows[i];
    EXPECT_EQ(row.read(texts[i]).value(), row.get(paint_settings().defaults)) << row.name;
  }
}

TEST(Settings, AreRefusedWithTheReason) {
  const auto refusal = [](std::string_view name, std::string_view text) {
    const Result<double> read = paint_settings().find(name)->read(text);
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_THAT(refusal("share", "1.5"), HasSubstr("1.5 is not from 0 to 1"));
  EXPECT_THAT(refusal("share", "much"), HasSubstr("not a number"));
  EXPECT_THAT(refusal("coats", "1.5"), HasSubstr("1.5 is not a whole number"));
  EXPECT_THAT(refusal("coats", "10"), HasSubstr("within range, from 1 to 9"));
  EXPECT_THAT(refusal("dry", "2"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal("colour", "green"), HasSubstr("'green' is none of red, blue"));
  EXPECT_NE(refusal("tin", "2 buckets"), "accepted");
  EXPECT_EQ(paint_settings().find("brush"), nullptr);
}

TEST(Settings, StandBehindAName) {
  EXPECT_EQ(name_in("um:page=2MiB"), "um");
  EXPECT_EQ(name_in("um"), "um");
  EXPECT_TRUE(settings_in("um").empty());
  const std::vector<WrittenSetting> written = settings_in("um:page=2MiB:fault:");
  ASSERT_EQ(written.size(), 3U);
  EXPECT_EQ(written[0].name, "page");
  EXPECT_EQ(written[0].value, "2MiB");
  EXPECT_EQ(written[1].name, "fault");
  EXPECT_FALSE(written[1].value);
  EXPECT_EQ(written[2].name, "");
}

}  // namespace
}  // namespace sluice

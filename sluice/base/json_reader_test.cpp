#include "sluice/base/json_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>

#include "sluice/base/json_file.hpp"

namespace sluice {

struct Stop {
  std::string name;
  double wait = 0;
};

Status read_json(const JsonReader& reader, Stop& stop) {
  SLUICE_RETURN_IF_ERROR(reader.read("name", stop.name));
  return reader.read_figure("wait", stop.wait);
}

enum class Colour { kRed, kGreen };
std::string to_string(Colour colour) { return colour == Colour::kRed ? "red" : "green"; }

namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Result<Colour> parse_colour(std::string_view text) {
  if (text == "red") return Colour::kRed;
  return Error{ErrorCode::kBadInput, "no colour is called so"};
}

template <typename T>
std::string error_of(const json& document, T target) {
  const Status status = JsonReader(document).read(target);
  if (status.ok()) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kBadInput);
  return status.error().message;
}

TEST(JsonReader, ReadsWhatIsThere) {
  const json document = {{"text", "a"}, {"yes", true}, {"half", 0.5}, {"list", {1, 2}}, {"map", {{"x", {3}}}}};
  const JsonReader reader(document);
  std::string text;
  bool yes = false;
  float half = 0;
  std::vector<int> list{9, 9, 9};
  std::map<std::string, std::vector<std::uint8_t>> map{{"old", {}}};
  double absent = 7;
  ASSERT_TRUE(reader.read("text", text).ok() && reader.read("yes", yes).ok() && reader.read("half", half).ok());
  ASSERT_TRUE(reader.read("list", list).ok() && reader.read("map", map).ok());
  ASSERT_TRUE(reader.read_if_present("none", absent).ok());
  EXPECT_EQ(text, "a");
  EXPECT_TRUE(yes);
  EXPECT_EQ(half, 0.5F);
  EXPECT_EQ(list, (std::vector<int>{1, 2}));
  EXPECT_EQ(map, (std::map<std::string, std::vector<std::uint8_t>>{{"x", {3}}}));
  EXPECT_EQ(absent, 7);
}

TEST(JsonReader, NamesThePlaceWithinListsMapsAndOwnTypes) {
  std::map<std::string, std::vector<Stop>> lines;
  json document = {{"north", {{{"name", "a"}, {"wait", 1}}, {{"name", "b"}, {"wait", 2}}}}};
  ASSERT_TRUE(JsonReader(document).read(lines).ok());
  EXPECT_EQ(lines.at("north").at(1).wait, 2);
  document["north"][1]["wait"] = "long";
  EXPECT_EQ(error_of(document, lines), R"(/north/1/wait: expected a number, found "long")");
  document["north"][1]["wait"] = -2;
  EXPECT_EQ(error_of(document, lines), "/north/1/wait: expected a number from 0, found -2");
  document["north"][1].erase("name");
  EXPECT_EQ(error_of(document, lines), "/north/1/name: missing");
  document["north"][1] = 3;
  EXPECT_EQ(error_of(document, lines), "/north/1: expected an object, found 3");
  document["north"] = nullptr;
  EXPECT_EQ(error_of(document, lines), "/north: expected a list, found null");
  EXPECT_EQ(error_of(json(1), lines), "/: expected an object, found 1");
}

TEST(JsonReader, NumbersOutOfRangeAreErrors) {
  EXPECT_EQ(error_of(json(127), std::int8_t{}), "");
  EXPECT_EQ(error_of(json(128), std::int8_t{}), "/: expected a number within range, found 128");
  EXPECT_EQ(error_of(json(-1), std::uint32_t{}), "/: expected a number within range, found -1");
  EXPECT_EQ(error_of(json(UINT64_MAX), std::uint64_t{}), "");
  EXPECT_THAT(error_of(json(UINT64_MAX), std::int64_t{}), HasSubstr("within range"));
  EXPECT_THAT(error_of(json(1.5), int{}), HasSubstr("a whole number"));
  EXPECT_THAT(error_of(json(true), int{}), HasSubstr("a whole number"));
  EXPECT_THAT(error_of(json(1), bool{}), HasSubstr("true or false"));
  EXPECT_THAT(error_of(json(1e300), float{}), HasSubstr("within range"));
  EXPECT_THAT(error_of(json("1"), double{}), HasSubstr("a number"));
}

TEST(JsonReader, LeavesTheTargetOfAFailedReadAlone) {
  int target = 5;
  EXPECT_FALSE(JsonReader(json("text")).read(target).ok());
  EXPECT_EQ(target, 5);
}

TEST(JsonReader, KnowsWordsAndParsedTexts) {
  constexpr std::array kColours{Colour::kRed, Colour::kGreen};
  const json document = {{"one", "green"}, {"two", "blue"}, {"three", "red"}};
  const JsonReader reader(document);
  Colour colour = Colour::kRed;
  ASSERT_TRUE(reader.read_word("one", kColours, colour).ok());
  EXPECT_EQ(colour, Colour::kGreen);
  EXPECT_EQ(reader.read_word("two", kColours, colour).error().message, "/two: unknown word 'blue'");
  EXPECT_EQ(reader.read_parsed("two", parse_colour, colour).error().message, "/two: no colour is called so");
  ASSERT_TRUE(reader.read_parsed("three", parse_colour, colour).ok());
  EXPECT_EQ(colour, Colour::kRed);
}

TEST(JsonReader, ShortensWhatItShows) {
  const std::string message = error_of(json(std::string(500, 'x')), int{});
  EXPECT_LT(message.size(), 100U);
  EXPECT_THAT(message, HasSubstr("xxx..."));
}

TEST(JsonReader, MissingKeysOfWhatIsNoObjectAreErrors) {
  double target = 0;
  const json list = json::array();
  EXPECT_EQ(JsonReader(list).read_if_present("key", target).error().message, "/: expected an object, found []");
}

TEST(JsonFile, SaysWhereTextStopsBeingJson) {
  EXPECT_EQ(parse_json(R"({"a": 1})")->at("a"), 1);
  EXPECT_THAT(parse_json("").error().message, HasSubstr("cut short at byte 1"));
  EXPECT_THAT(parse_json(R"({"a": 1)").error().message, HasSubstr("cut short at byte 8"));
  EXPECT_THAT(parse_json("[1, 1e999]").error().message, HasSubstr("a number is too large"));
  EXPECT_EQ(parse_json("{]").error().code, ErrorCode::kBadInput);
}

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonFile, RefusesWhatIsNestedTooDeep) {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair(R"({"a":)", "}"), std::pair(R"([{"]}\"":)", "}]")}) {
    SCOPED_TRACE(open);
    const int levels = std::string_view(open).starts_with("[{") ? 2 : 1;
    EXPECT_TRUE(parse_json(nested(kMostJsonDepth / levels, open, close)).ok());
    EXPECT_THAT(parse_json(nested(100'000, open, close)).error().message, HasSubstr("nested deeper than 64 at byte"));
    EXPECT_THAT(parse_json(nested(100'000, open, "")).error().message, HasSubstr("nested deeper"));
  }
}

TEST(JsonFile, RefusesMoreValuesThanAFileOfOursHas) {
  std::string list = "[";
  for (std::size_t i = 0; i < kMostJsonValues; ++i) list += "0,";
  list += "0]";
  EXPECT_THAT(parse_json(list).error().message, HasSubstr("more than 8000000 values"));
}

TEST(JsonReader, FiguresAreWithinWhatCanBeReckonedWith) {
  double figure = 5;
  for (const double wrong : {1e19, -1.0, 1e300, -1e-300}) {
    const json document = {{"figure", wrong}};
    EXPECT_FALSE(JsonReader(document).read_figure("figure", figure).ok()) << wrong;
  }
  EXPECT_EQ(figure, 5);
  const json document = {{"figure", 0}, {"large", 1e18}, {"small", 1e-18}};
  for (const char* key : {"figure", "large", "small"}) EXPECT_TRUE(JsonReader(document).read_figure(key, figure).ok());
  EXPECT_TRUE(JsonReader(document).read_figure_if_present("none", figure).ok());
  EXPECT_EQ(figure, 1e-18);
  const json tiny = {{"figure", 1e-19}};
  ASSERT_TRUE(JsonReader(tiny).read_figure("figure", figure).ok());
  EXPECT_EQ(figure, 0);
}

TEST(JsonReader, ShortensTextBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 40; ++i) text += "ü";
  for (const std::string& shown : {text, "y" + text}) {
    const std::string message = error_of(json(shown), int{});
    EXPECT_NO_THROW(static_cast<void>(json(message).dump())) << "no part of a character";
  }
}

TEST(JsonFile, NamesTheFileThatItCannotRead) {
  const std::string path = ::testing::TempDir() + "json_file_test.json";
  std::ofstream(path) << "[1, 2";
  EXPECT_EQ(read_json_file(path).error().code, ErrorCode::kBadInput);
  EXPECT_THAT(read_json_file(path).error().message, HasSubstr(path + ": not JSON, or cut short at byte 6"));
  std::ofstream(path) << "[1, 2]";
  EXPECT_EQ(*read_json_file(path), json({1, 2}));
  std::filesystem::remove(path);
  EXPECT_EQ(read_json_file(path).error().code, ErrorCode::kIo);
  EXPECT_THAT(read_json_file(path).error().message, HasSubstr(path + ": No such file"));
  EXPECT_EQ(read_json_file(::testing::TempDir()).error().code, ErrorCode::kIo) << "a folder";
}

}  // namespace
}  // namespace sluice

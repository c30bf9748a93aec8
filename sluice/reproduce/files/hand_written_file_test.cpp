#include "sluice/reproduce/files/hand_written_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(HandWrittenFileTest, AllowsComments) {
  const auto document = parse_hand_written("// a word before\n{\"a\": 1 /* and one within */}\n");
  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ((*document)["a"], 1);
}

TEST(HandWrittenFileTest, RefusesAKeyThatStandsTwice) {
  EXPECT_THAT(parse_hand_written(R"({"a": {"b": 1, "b": 2}})").error().message, HasSubstr("\"b\" stands twice"));
  EXPECT_TRUE(parse_hand_written(R"({"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 2}]})").ok());
}

TEST(HandWrittenFileTest, NamesTheLineOfAMistake) {
  EXPECT_THAT(parse_hand_written("{\n\"a\": 1,\n}").error().message, HasSubstr("line 3"));
  EXPECT_THAT(parse_hand_written("").error().message, HasSubstr("line 1"));
}

TEST(HandWrittenFileTest, NamesTheFieldThatNobodyKnows) {
  const nlohmann::json document = {{"name", "x"}, {"verdict", "ahead"}};
  const Status checked = check_fields(JsonReader(document), {"name", "note"});
  EXPECT_THAT(checked.error().message, HasSubstr("unknown field \"verdict\"; known: name, note"));
  EXPECT_TRUE(check_fields(JsonReader(document), {"name", "verdict"}).ok());
}

TEST(HandWrittenFileTest, NamesAFileThatIsNotThere) {
  const auto document = read_hand_written("/nowhere/kept.json");
  EXPECT_EQ(document.error().code, ErrorCode::kIo);
  EXPECT_THAT(document.error().message, HasSubstr("/nowhere/kept.json"));
}

}  // namespace
}  // namespace sluice

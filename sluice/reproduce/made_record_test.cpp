#include "sluice/reproduce/made_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/reproduce/kept_text.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(MadeRecordTest, IsReadAsItWasWritten) {
  const MadeRecord record{"1f2e3d4", true, {{"sluice/exec", "0123456789ab"}, {"a=b.cpp", ""}}};
  const auto read = read_made_record("$ sluice models\n" + made_record_text(record) + "printed\n");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->commit, "1f2e3d4");
  EXPECT_TRUE(read->dirty);
  EXPECT_EQ(read->code, record.code);
}

TEST(MadeRecordTest, OldFilesHaveTheCommitAlone) {
  const auto read = read_made_record("$ sluice compare lstm\ncommit d554c80\ncode of words\n");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->commit, "d554c80");
  EXPECT_FALSE(read->dirty);
  EXPECT_TRUE(read->code.empty());
}

TEST(MadeRecordTest, OtherTextsHaveNone) {
  EXPECT_FALSE(read_made_record("").has_value());
  EXPECT_FALSE(read_made_record("commit 9398868, by hand\n").has_value());
  EXPECT_FALSE(read_made_record("commit message\n").has_value());
  EXPECT_FALSE(read_made_record("threads 2, commit 1232b14\n").has_value());
}

TEST(KeptTextTest, ShowsCommandsAsTheyCanBeTypedAndNoFolderOfThisMachine) {
  KeptResult result;
  result.name = "a_b1";
  result.note = "a note";
  result.before = {{"$sluice", "profile", "a", "--save", "$spill/$name.profile.json"}};
  result.command = {"$sluice", "compare", "it's", "--json", "$out"};
  const Places places{.sluice = "/far/sluice",
                      .out = "/r/docs/results/.making/files/a_b1.json",
                      .picture = "",
                      .folder = "/r/docs/results/.making/files",
                      .root = "/r",
                      .spill = "/s",
                      .name = "a_b1"};
  const std::string text = kept_text(result, {"1f2e3d4", false, {}},
                                     "wrote /r/docs/results/.making/files/a_b1.json, used /s/x and /r/y\n", places);
  EXPECT_EQ(text,
            "$ sluice profile a --save SPILL/a_b1.profile.json\n"
            "$ sluice compare 'it'\\''s' --json docs/results/a_b1.json\n"
            "commit 1f2e3d4\n"
            "a note\n"
            "wrote docs/results/a_b1.json, used SPILL/x and y\n");
}

}  // namespace
}  // namespace sluice

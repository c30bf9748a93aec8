#include "sluice/reproduce/files/kept_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/reproduce/files/hand_written_file.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::vector<KeptResult>> kept(const std::string& entries) {
  SLUICE_ASSIGN(const json document, parse_hand_written("{\"results\": [" + entries + "]}"));
  return kept_results_of(document);
}

std::string why_not_kept(const std::string& entries) {
  const auto results = kept(entries);
  return results.ok() ? "taken" : results.error().message;
}

TEST(KeptResultTest, EveryCombinationIsAResult) {
  const auto results = kept(R"({"name": "${model}${kind}", "how": "executed", "minutes": "${minutes}",
    "each": [[{"model": "lstm", "minutes": 2, "more": []}, {"model": "vgg16", "minutes": 3, "more": ["--lr", "0.001"]}],
             [{"kind": ""}, {"kind": "_40"}]],
    "command": ["$sluice", "compare", "${model}", "${more}", "--json", "$out"]})");
  ASSERT_TRUE(results.ok()) << results.error().message;
  std::vector<std::string> names;
  for (const KeptResult& each : *results) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("lstm", "lstm_40", "vgg16", "vgg16_40"));
  EXPECT_THAT((*results)[0].command, ElementsAre("$sluice", "compare", "lstm", "--json", "$out"));
  EXPECT_THAT((*results)[3].command, ElementsAre("$sluice", "compare", "vgg16", "--lr", "0.001", "--json", "$out"));
  EXPECT_EQ((*results)[3].minutes, 3);
  EXPECT_TRUE((*results)[0].writes("$out"));
  EXPECT_FALSE((*results)[0].writes("$picture"));
}

TEST(KeptResultTest, WordsAreDefinedOnceAndUsed) {
  const std::string rest = R"("how": "both", "minutes": 1, "command": ["true"]})";
  EXPECT_THAT(why_not_kept(R"({"name": "a${b}", )" + rest), HasSubstr("nothing in \"each\" defines ${b}"));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "each": [{"b": "1"}], )" + rest), HasSubstr("nothing uses ${b}"));
  EXPECT_THAT(why_not_kept(R"({"name": "a${b}", "each": [[{"b": "1"}], [{"b": "2"}]], )" + rest),
              HasSubstr("\"b\" is defined twice"));
  EXPECT_THAT(why_not_kept(R"({"name": "a${b}", "each": [{"b": ["x"]}], )" + rest), HasSubstr("into a text"));
  EXPECT_THAT(why_not_kept(R"({"name": "a${b", "each": [{"b": "x"}], )" + rest), HasSubstr("${ without }"));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "each": [], )" + rest), HasSubstr("/results/0/each: is empty"));
}

TEST(KeptResultTest, NamesTheFieldThatIsWrong) {
  const std::string good = R"("how": "executed", "minutes": 1, "command": ["true"])";
  EXPECT_EQ(why_not_kept(R"({"name": "a", )" + good + "}"), "taken");
  EXPECT_THAT(why_not_kept(R"({"name": "../a", )" + good + "}"), HasSubstr("/name: \"../a\" is no name"));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "kept": 1, )" + good + "}"), HasSubstr("unknown field \"kept\""));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "how": "guessed", "minutes": 1, "command": ["true"]})"),
              HasSubstr("/how: unknown word 'guessed'"));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "how": "executed", "minutes": -1, "command": ["true"]})"),
              HasSubstr("/minutes"));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "how": "executed", "minutes": 1, "command": []})"),
              HasSubstr("names no program"));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "how": "executed", "minutes": 1, "command": ["true", "$where"]})"),
              HasSubstr("unknown place in \"$where\""));
  EXPECT_THAT(why_not_kept(R"({"name": "a", "how": "executed", "minutes": 1})"), HasSubstr("/command: missing"));
}

TEST(KeptResultTest, PlacesArePutInAsTextAlone) {
  const Places places{.sluice = "/bin/sluice",
                      .out = "o.json",
                      .picture = "p",
                      .folder = "f",
                      .root = "r",
                      .spill = "s",
                      .name = "$out"};
  EXPECT_EQ(fill_places("$spill/$name.json", places), "s/$out.json");
  EXPECT_EQ(fill_places("100$", places), "100$");
}

}  // namespace
}  // namespace sluice

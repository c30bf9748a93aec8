#include "sluice/reproduce/files/paper_item.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json good_item() {
  return {{"id", "sentinel-figure-7"},
          {"paper", "Sentinel"},
          {"item", "figure 7"},
          {"title", "Throughput"},
          {"kept", {"a"}},
          {"rows",
           {{{"what", "sentinel"},
             {"model", "LSTM"},
             {"batch", 20},
             {"setting", "optane, 20 %"},
             {"published", 1.7},
             {"published_from", "text"},
             {"unit", "x"},
             {"better", "higher"},
             {"ours", "a#/x"}}}}};
}

std::string why_refused(const json& document) {
  PaperItem item;
  const Status read = read_json(JsonReader(document), item);
  return read.ok() ? "taken" : read.error().message;
}

// What is said of the good item with one field of its row changed.
std::string with_row(const char* field, const json& value) {
  json document = good_item();
  document["rows"][0][field] = value;
  return why_refused(document);
}

TEST(PaperItemTest, IsRead) {
  PaperItem item;
  json document = good_item();
  document["rows"][0]["published"] = {1.5, 2};
  ASSERT_TRUE(read_json(JsonReader(document), item).ok());
  EXPECT_THAT(item.kept, ElementsAre("a"));
  EXPECT_EQ(item.rows[0].batch, "20");
  EXPECT_EQ(item.rows[0].published.low, 1.5);
  EXPECT_EQ(item.rows[0].published.high, 2);
  EXPECT_EQ(item.rows[0].better, Better::kHigher);
}

TEST(PaperItemTest, HasNoFieldForAVerdict) {
  EXPECT_THAT(with_row("verdict", "ahead"), HasSubstr("/rows/0: unknown field \"verdict\""));
  EXPECT_THAT(with_row("how", "executed"), HasSubstr("/rows/0: unknown field \"how\""));
}

TEST(PaperItemTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(with_row("published", "1.7"), HasSubstr("/rows/0/published: expected a number"));
  EXPECT_THAT(with_row("published", {3, 1}), HasSubstr("[low, high]"));
  EXPECT_THAT(with_row("batch", 0), HasSubstr("/rows/0/batch"));
  EXPECT_THAT(with_row("better", "more"), HasSubstr("/rows/0/better: unknown word 'more'"));
  EXPECT_THAT(with_row("model", ""), HasSubstr("/rows/0/model: is empty"));
  EXPECT_THAT(with_row("ours", "b#/x"), HasSubstr("row 0 reads b, which is not in \"kept\""));
  EXPECT_THAT(with_row("ours", 1.9), HasSubstr("reads no kept result"));
  EXPECT_THAT(with_row("not_addressed", "why"), HasSubstr("both \"ours\" and \"not_addressed\""));
}

TEST(PaperItemTest, IdsAreOfPaperAndKind) {
  for (const char* id : {"sentinel-figure-7", "sentinel-table-iii", "sentinel-figure-5.7"}) {
    json document = good_item();
    document["id"] = id;
    EXPECT_EQ(why_refused(document), "taken") << id;
  }
  for (const char* id :
       {"home-figure-7", "sentinel-7", "sentinel-figure-", "Sentinel-figure-7", "sentinel-figure-7/x"}) {
    json document = good_item();
    document["id"] = id;
    EXPECT_THAT(why_refused(document), HasSubstr("/id: ")) << id;
  }
}

TEST(PaperItemTest, OneThatIsNotAddressedSaysWhyAndHasNoRows) {
  json document = {{"id", "zero-offload-figure-5.9"},
                   {"paper", "ZeRO-Offload"},
                   {"item", "figure 5.9"},
                   {"title", "Sixteen GPUs"},
                   {"not_addressed", "needs a DGX-2"}};
  EXPECT_EQ(why_refused(document), "taken");
  document["rows"] = json::array();
  EXPECT_THAT(why_refused(document), HasSubstr("has \"not_addressed\" and rows"));
}

}  // namespace
}  // namespace sluice

// What is printed and written of a characterization, on a step counted by hand.
#include "sluice/report/characterization_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/report/characterization_json.hpp"
#include "sluice/testing/drawn_step.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using Step = testing::DrawnStep;

Characterization observe(const Step& step) { return characterize(step.graph, step.liveness, &step.accesses); }

TEST(CharacterizationTextTest, SharesOfNothingAreADash) {
  EXPECT_EQ(format_share(1, 8), "12.5 %");
  EXPECT_EQ(format_share(0, 0), "-");
}

TEST(CharacterizationTextTest, TablesHaveTheCountedNumbers) {
  const Step step;
  const std::string text = describe_characterization(step.graph, step.liveness, observe(step));
  EXPECT_THAT(text, HasSubstr("6 ops in 4 layers"));
  EXPECT_THAT(text, HasSubstr("short-lived               2  28.6 %      1   50.0 %  12.0 KiB  14.9 %\n"));
  EXPECT_THAT(text, HasSubstr("lower bound on fast memory   48.0 KiB, 63.2 % of the peak"));
  EXPECT_THAT(text, HasSubstr("peak of live bytes           76.0 KiB, during op4 (backward)"));
  EXPECT_THAT(text, HasSubstr("4 B because of tensors\nthat live on the page at the same time"));
}

TEST(CharacterizationTextTest, WithoutAccessesNothingIsSaidOfThem) {
  const Step step;
  const std::string text =
      describe_characterization(step.graph, step.liveness, characterize(step.graph, step.liveness, nullptr));
  EXPECT_THAT(text, Not(HasSubstr("accesses")));
}

TEST(CharacterizationTextTest, AnImpossiblePageMigrationIsExplained) {
  const std::vector<PageMigrationCase> cases{
      {profile::kPageBytes, 100, Error{ErrorCode::kInfeasible, "op 'x' is too large"}}};
  const std::string text = describe_page_migration(cases);
  EXPECT_THAT(text, HasSubstr("4.0 KiB pages: op 'x' is too large\n"));
  EXPECT_THAT(text, Not(HasSubstr("saved"))) << "no table without rows";
  EXPECT_EQ(page_migration_json(cases)[0]["error"], "op 'x' is too large");
}

TEST(CharacterizationTextTest, PageMigrationShowsWhatReorganisingSaves) {
  const layout::PageMigrationComparison moved{{600, 400}, {500, 300}, {400, 100}};
  const std::vector<PageMigrationCase> cases{{profile::kPageBytes, 8192, moved}};
  EXPECT_THAT(describe_page_migration(cases),
              HasSubstr("4.0 KiB      8.0 KiB            1000 B             800 B        500 B  50.0 %"));
  EXPECT_EQ(page_migration_json(cases)[0]["reorganized"], (json{{"in", 400}, {"out", 100}}));
}

TEST(CharacterizationJsonTest, HasTheCountedNumbers) {
  const Step step;
  const json found = characterization_json(step.graph, observe(step));
  EXPECT_EQ(found["layers"], 4);
  EXPECT_EQ(found["short_lived"]["small"], (json{{"tensors", 1}, {"bytes", 4095}}));
  EXPECT_EQ(found["lifetimes"][1]["large"]["bytes"], 20480);
  EXPECT_EQ(found["distances"].back(),
            (json{{"layers", "first use"}, {"uses", 6}, {"bytes", 74243}, {"accesses", 238}}));
  EXPECT_EQ(found["bound"]["bytes"], 49152);
  EXPECT_EQ(found["bound"]["largest_long_lived"], "a");
  EXPECT_EQ(found["live"]["short_lived"], (json{4095, 0, 0, 0, 8192, 8192}));
  EXPECT_EQ(found["hot_and_cold"][2]["accesses"], 201);
  EXPECT_TRUE(found["false_sharing"].contains("misclassed_bytes"));
}

}  // namespace
}  // namespace sluice::report

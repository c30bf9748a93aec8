#include "sluice/planners/registry/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/planners/sentinel/sentinel_settings.hpp"

namespace sluice::planners {
namespace {

using ::testing::HasSubstr;

TEST(PlannerName, AloneHasAllAdditions) {
  const auto chosen = choose_planner("sentinel");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen->entry->name, "sentinel");
  EXPECT_EQ(names_of_additions(chosen->additions, find_planner("sentinel")->additions),
            "choice+staying+in-place+ahead+prices+lending");
}

TEST(PlannerName, SettingsSwitchAdditionsOn) {
  EXPECT_EQ(names_of_additions(choose_planner("redl:additions=none")->additions, find_planner("redl")->additions),
            "none");
  const AdditionSet two = choose_planner("sentinel:additions=in-place+choice")->additions;
  EXPECT_EQ(names_of_additions(two, find_planner("sentinel")->additions), "choice+in-place");
}

TEST(PlannerName, EverySettingThatAPlannerListsIsAccepted) {
  for (const PlannerEntry& entry : planners()) {
    for (std::size_t i = 0; i < entry.additions.size(); ++i) {
      const std::string text = std::string(entry.name) + ":additions=" + std::string(entry.additions[i].name);
      const auto chosen = choose_planner(text);
      ASSERT_TRUE(chosen.ok()) << chosen.error().message;
      for (std::size_t k = 0; k < entry.additions.size(); ++k) EXPECT_EQ(chosen->additions.has(k), k == i) << text;
    }
  }
}

TEST(PlannerName, NumbersAreSetByName) {
  const auto plain = choose_planner("autotm-sync");
  const auto set = choose_planner("autotm-sync:gap=0.25:additions=kernels:seconds=300");
  ASSERT_TRUE(plain.ok() && set.ok());
  const Settings& settings = plain->entry->settings;
  ASSERT_FALSE(settings.rows.empty());
  for (const Setting& each : settings.rows) {
    const double own = each.get(settings.defaults);
    EXPECT_EQ(each.get(plain->config), own);
    EXPECT_EQ(each.get(set->config), each.name == "gap" ? 0.25 : each.name == "seconds" ? 300 : own) << each.name;
  }
  EXPECT_EQ(names_of_additions(set->additions, set->entry->additions), "kernels");
  for (const char* text :
       {"autotm-sync:gap=2", "autotm-sync:gap=-1", "autotm-sync:gap", "autotm-sync:gap=", "autotm-sync:gap=x",
        "autotm-sync:threads=1.5", "autotm-sync:luck=1", "autotm-sync:gap=0.1:"}) {
    const auto refused = choose_planner(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.error().message,
                HasSubstr("autotm-sync:NAME=VALUE with seconds from 0.001 to 1e+06; gap from 0 to 1"));
  }
}

TEST(PlannerName, SettingsSayWhatTheyAreAndWhereTheirDefaultsAreFrom) {
  for (const PlannerEntry& entry : planners()) {
    for (const Setting& each : entry.settings.rows) {
      SCOPED_TRACE(std::string(entry.name) + ":" + std::string(each.name));
      EXPECT_FALSE(each.help.empty());
      EXPECT_FALSE(each.source.empty());
      EXPECT_TRUE(each.check(each.get(entry.settings.defaults)).ok()) << "the default is out of range";
      const std::string text = text_of(each, entry.settings.defaults);
      EXPECT_TRUE(choose_planner(std::string(entry.name) + ":" + std::string(each.name) + "=" + text).ok()) << text;
    }
  }
}

TEST(PlannerName, WordsAreSetByName) {
  const auto config = [](std::string_view text) {
    return std::any_cast<SentinelConfig>(choose_planner(text).value().config);
  };
  EXPECT_EQ(config("sentinel").migration, config("sentinel:migration=all").migration);
  EXPECT_EQ(config("sentinel:migration=direct").migration, SentinelMigration::kDirect);
  EXPECT_EQ(config("sentinel:migration=direct").interval, 0);
  EXPECT_EQ(config("sentinel:migration=intervals:additions=none:interval=8").migration, SentinelMigration::kIntervals);
  EXPECT_EQ(config("sentinel:migration=intervals:additions=none:interval=8").interval, 8);
  for (const char* text : {"sentinel:migration=directly", "sentinel:migration=", "sentinel:migration=0",
                           "sentinel:migration", "sentinel:migrations=direct"}) {
    const auto refused = choose_planner(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(refused.error().message,
                ::testing::AllOf(HasSubstr(text), HasSubstr("sentinel:additions=none"),
                                 HasSubstr("sentinel:NAME=VALUE with migration one of direct, intervals, all")));
  }
}

TEST(PlannerName, IsRefusedWithTheReason) {
  const auto message = [](std::string_view text) {
    const auto chosen = choose_planner(text);
    return chosen.ok() ? std::string("accepted") : chosen.error().message;
  };
  EXPECT_THAT(message("oracle:additions=none"), HasSubstr("unknown planner 'oracle'; known planners: fast-only"));
  EXPECT_THAT(message("fast-only:additions=none"), HasSubstr("fast-only has no settings"));
  for (const char* text : {"sentinel:", "sentinel:additions", "sentinel:additions=", "sentinel:additions=luck",
                           "sentinel:additions=choice+", "sentinel:additions=choice,staying", "sentinel:page=4KiB"}) {
    EXPECT_THAT(message(text), HasSubstr("sentinel:additions=A+B with some of choice, staying, in-place, ahead"))
        << text;
  }
}

}  // namespace
}  // namespace sluice::planners

#include "sluice/planners/registry/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
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
  const auto& settings = plain->entry->settings;
  ASSERT_EQ(plain->settings.size(), settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    EXPECT_EQ(plain->settings[i], settings[i].value);
    const double expected = settings[i].name == "gap" ? 0.25 : settings[i].name == "seconds" ? 300 : settings[i].value;
    EXPECT_EQ(set->settings[i], expected) << settings[i].name;
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

TEST(PlannerName, WordsAreSetByName) {
  EXPECT_EQ(choose_planner("sentinel")->settings, choose_planner("sentinel:migration=all")->settings);
  EXPECT_EQ(choose_planner("sentinel:migration=direct")->settings, (std::vector<double>{0, 0}));
  EXPECT_EQ(choose_planner("sentinel:migration=intervals:additions=none:interval=8")->settings,
            (std::vector<double>{1, 8}));
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
}  // namespace sluice

#include "sluice/policies/policy_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::policies {
namespace {

using ::testing::HasSubstr;

Result<ChosenPages> choose(std::string_view text) { return choose_pages(text, kMiB); }

TEST(PolicySettings, AreAddedToTheDefaults) {
  const auto plain = choose("ial");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->entry, find_policy("ial"));
  EXPECT_EQ(plain->tuning.scan_period, find_policy("ial")->pages->defaults.scan_period);

  const auto ial = choose("ial:period=0.02:threads=2:concurrent=3:migration=1e-5:page=2MiB");
  ASSERT_TRUE(ial.ok()) << ial.error().message;
  EXPECT_EQ(ial->entry, find_policy("ial"));
  EXPECT_EQ(ial->tuning.scan_period, 0.02);
  EXPECT_EQ(ial->tuning.copy_threads, 2);
  EXPECT_EQ(ial->tuning.concurrent_migrations, 3);
  EXPECT_EQ(ial->tuning.migration_seconds, 1e-5);
  EXPECT_EQ(ial->tuning.page_bytes, 2 * kMiB);

  const auto um = choose("um:fault=5e-05:fault-bytes=64KiB");
  ASSERT_TRUE(um.ok()) << um.error().message;
  EXPECT_EQ(um->tuning.fault_seconds, 5e-5);
  EXPECT_EQ(um->tuning.fault_bytes, 64 * kKiB);
  EXPECT_EQ(um->tuning.page_bytes, find_policy("um")->pages->defaults.page_bytes);
}

TEST(PolicySettings, AreRefusedWithTheReason) {
  const auto message = [](std::string_view text) {
    const auto chosen = choose(text);
    return chosen.ok() ? std::string("accepted") : chosen.error().message;
  };
  EXPECT_THAT(message("lru:page=4KiB"), HasSubstr("unknown policy 'lru:page=4KiB'; known policies: numa-first-touch"));
  EXPECT_THAT(message("dtr:page=4KiB"), HasSubstr("dtr has no settings"));
  EXPECT_THAT(message("dtr"), HasSubstr("no pages"));
  EXPECT_THAT(message("ial:colour=red"), HasSubstr("no setting 'colour'"));
  EXPECT_THAT(message("ial:colour=red"), HasSubstr("period"));
  EXPECT_THAT(message("ial:period"), HasSubstr("SETTING=VALUE"));
  EXPECT_THAT(message("ial:"), HasSubstr("no setting ''"));
  EXPECT_THAT(message("ial:period=fast"), HasSubstr("'fast' is not a number"));
  EXPECT_THAT(message("ial:period=0.1s"), HasSubstr("not a number"));
  EXPECT_THAT(message("ial:page=many"), HasSubstr("page"));
  EXPECT_THAT(message("um:fault=inf"), HasSubstr("not a number"));
  EXPECT_THAT(message("ial:threads=1.5"), HasSubstr("threads: 1.5 is not a whole number"));
  EXPECT_THAT(message("ial:threads=5000000000"), HasSubstr("not a whole number within range"));
}

TEST(PolicySettings, DtrIsAPolicyOfItsOwnKind) {
  const Result<ChosenPolicy> chosen = choose_policy("dtr", 3 * kMiB);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(std::get<ChosenDtr>(*chosen).fast_bytes, 3 * kMiB);
  EXPECT_TRUE(names_policy("dtr:page=4KiB"));
}

TEST(PolicySettings, ANameBeforeSettingsIsFound) {
  EXPECT_EQ(find_policy_of("um:page=2MiB"), find_policy("um"));
  EXPECT_EQ(find_policy_of("umber:page=2MiB"), nullptr);
  EXPECT_EQ(find_policy_of("sentinel"), nullptr);
}

}  // namespace
}  // namespace sluice::policies

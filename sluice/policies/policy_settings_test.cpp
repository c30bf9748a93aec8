#include "sluice/policies/policy_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::policies {
namespace {

using ::testing::HasSubstr;

Result<ChosenPolicy> choose(std::string_view text) {
  SLUICE_ASSIGN(const plan::PolicyRequest request, parse_policy(text, kMiB));
  return choose_policy(request);
}

TEST(PolicySettings, AreAddedToTheDefaults) {
  const auto plain = choose("ial");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->entry, find_policy("ial"));
  EXPECT_EQ(plain->tuning.scan_period, find_policy("ial")->defaults.scan_period);

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
  EXPECT_EQ(um->tuning.page_bytes, find_policy("um")->defaults.page_bytes);
}

TEST(PolicySettings, AreRefusedWithTheReason) {
  const auto message = [](std::string_view text) {
    const auto chosen = choose(text);
    return chosen.ok() ? std::string("accepted") : chosen.error().message;
  };
  EXPECT_THAT(message("lru:page=4KiB"), HasSubstr("unknown policy"));
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

TEST(PolicySettings, OfARequestAreRefusedWithTheirPlaceInThePlan) {
  const auto message = [](const plan::PolicyRequest& request) {
    const auto chosen = choose_policy(request);
    return chosen.ok() ? std::string("accepted") : chosen.error().message;
  };
  const plan::PolicySetting page{"page", 8192};
  EXPECT_EQ(message({"um", {page}, kMiB}), "accepted");
  EXPECT_THAT(message({"um:page=4KiB", {}, kMiB}), HasSubstr("/policy/name: unknown policy 'um:page=4KiB'"));
  EXPECT_THAT(message({"um", {page, {"colour", 1}}, kMiB}), HasSubstr("/policy/settings/1/name: no setting 'colour'"));
  EXPECT_THAT(message({"um", {{"page", 0.5}}, kMiB}), HasSubstr("/policy/settings/0/value: 0.5 is not a whole number"));
  EXPECT_THAT(message({"um", {page, {"threads", 1e300}}, kMiB}), HasSubstr("/policy/settings/1/value"));
}

TEST(PolicySettings, ANameBeforeSettingsIsFound) {
  EXPECT_EQ(find_policy_of("um:page=2MiB"), find_policy("um"));
  EXPECT_EQ(find_policy_of("umber:page=2MiB"), nullptr);
  EXPECT_EQ(find_policy_of("sentinel"), nullptr);
}

}  // namespace
}  // namespace sluice::policies

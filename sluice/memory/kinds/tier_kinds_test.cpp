#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sluice/memory/arena.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/tier_kind.hpp"

namespace sluice::memory {
namespace {

TEST(TierKinds, EachHasANameOfItsOwnAndOneWayToItsBytes) {
  std::set<std::string_view> names;
  for (const TierKind kind : tier_kinds()) {
    SCOPED_TRACE(kind->name);
    EXPECT_TRUE(names.insert(kind->name).second);
    EXPECT_NE(kind->in_file, kind->host_reaches || kind->device_reaches);
    // A device maps what it reaches, and a file is opened.
    EXPECT_EQ(kind->map != nullptr, kind->host_reaches && !kind->device_reaches);
    EXPECT_EQ(kind->add == nullptr, kind->is_named == nullptr);
  }
}

TEST(TierKinds, OneAtMostAnswersToAName) {
  std::vector<std::string> names = slow_tier_names();
  names.insert(names.end(), {"host", "numa:1", "numa:0,1"});
  for (const std::string& name : names) {
    const auto answers = [&](TierKind kind) { return kind->is_named != nullptr && kind->is_named(name); };
    EXPECT_EQ(std::ranges::count_if(tier_kinds(), answers), 1) << name;
  }
}

// Built, their names lead back to what they are.
TEST(TierKinds, MakeTiersOfThemselves) {
  for (const std::string& name : slow_tier_names()) {
    const auto machine = make_machine({.slow = {{name, kMiB}}, .spill_path = ::testing::TempDir()}).value();
    const Tier& slow = machine.tier(1);
    EXPECT_EQ(slow.name, name);
    EXPECT_TRUE(slow.kind->is_named(name));
    if (slow.kind->map == nullptr) continue;
    EXPECT_EQ(slow.kind->map(slow, kMiB).value().bytes(), kMiB);
  }
}

}  // namespace
}  // namespace sluice::memory

#include "sluice/report/page/assets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PageAssets, ScriptsAreThereOrTheReasonIs) {
  EXPECT_NE(page_scripts().empty(), why_no_charts().empty());
  EXPECT_THAT(page_style(), HasSubstr("prefers-color-scheme"));
}

TEST(PageAssets, NothingEndsItsElementEarly) {
  EXPECT_THAT(page_style(), Not(HasSubstr("</style")));
  EXPECT_THAT(page_scripts(), Not(HasSubstr("</script")));
}

TEST(PageAssets, TheLibrarysLicenceGoesWithIt) {
  if (page_scripts().empty()) GTEST_SKIP() << why_no_charts();
  EXPECT_THAT(page_scripts(), HasSubstr("var uPlot="));
  EXPECT_THAT(page_scripts(), HasSubstr("Permission is hereby granted, free of charge"));
  EXPECT_THAT(page_style(), HasSubstr("Permission is hereby granted, free of charge"));
}

}  // namespace
}  // namespace sluice::report

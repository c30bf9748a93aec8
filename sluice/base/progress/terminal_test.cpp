#include "sluice/base/progress/terminal.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

const TerminalEnvironment kUsual{.no_color = "", .term = "xterm", .lc_all = "", .lc_ctype = "", .lang = "C"};

TEST(TerminalTest, ColoursAreForATerminalThatWantsThem) {
  EXPECT_TRUE(wants_colour(ColourChoice::kAuto, true, kUsual));
  EXPECT_FALSE(wants_colour(ColourChoice::kAuto, false, kUsual));
  TerminalEnvironment environment = kUsual;
  environment.no_color = "1";
  EXPECT_FALSE(wants_colour(ColourChoice::kAuto, true, environment));
  EXPECT_TRUE(wants_colour(ColourChoice::kAlways, false, environment));
  environment = kUsual;
  for (const char* term : {"dumb", ""}) {
    environment.term = term;
    EXPECT_FALSE(wants_colour(ColourChoice::kAuto, true, environment)) << term;
  }
  EXPECT_FALSE(wants_colour(ColourChoice::kNever, true, kUsual));
}

TEST(TerminalTest, TheFirstLocaleThatIsSetDecidesAboutSigns) {
  TerminalEnvironment environment = kUsual;
  EXPECT_FALSE(takes_unicode(environment));
  environment.lang = "en_GB.UTF-8";
  EXPECT_TRUE(takes_unicode(environment));
  environment.lc_ctype = "POSIX";
  EXPECT_FALSE(takes_unicode(environment));
  environment.lc_all = "C.utf8";
  EXPECT_TRUE(takes_unicode(environment));
  EXPECT_FALSE(takes_unicode({}));
}

TEST(TerminalTest, StylesAreSequencesAroundTheTextOrNothing) {
  EXPECT_EQ(styled("sluice:", Style::kBad, true), "\033[1;31msluice:\033[0m");
  EXPECT_EQ(styled("sluice:", Style::kBad, false), "sluice:");
  EXPECT_EQ(styled("text", Style::kPlain, true), "text");
}

}  // namespace
}  // namespace sluice

#include "sluice/base/text/markup.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(MarkupTest, WhatMarkupReadsIsEscaped) {
  EXPECT_EQ(escape_markup("<b a=\"1\">&it's\x01\n"), "&lt;b a=&quot;1&quot;&gt;&amp;it&apos;s \n");
}

TEST(MarkupTest, OtherLettersStay) { EXPECT_EQ(escape_markup("µ ≤"), "µ ≤"); }

}  // namespace
}  // namespace sluice

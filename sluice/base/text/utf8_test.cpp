#include "sluice/base/text/utf8.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sluice/base/random.hpp"

namespace sluice {
namespace {

TEST(Utf8, KnowsCharactersOfEveryLength) {
  for (const char* text : {"", "plain", "\xc2\x80", "вес重み😀", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
  for (const char* text : {"\x80", "\xc3", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(text));
  }
  EXPECT_EQ(as_utf8("a\xff"
                    "b\xe2\x82"),
            "a?b??");
}

TEST(Utf8, WhatItGivesCanBeWrittenAsJson) {
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t i = 0; i < 1 + round % 6; ++i) {
      text += static_cast<char>(random_bits(1, round, i) | (random_bits(2, round, i) % 4 == 0 ? 0U : 0x80U));
    }
    bool written = true;
    try {
      static_cast<void>(nlohmann::json(text).dump());
    } catch (const nlohmann::json::exception&) {
      written = false;
    }
    ASSERT_EQ(is_utf8(text), written) << "round " << round;
    ASSERT_TRUE(is_utf8(as_utf8(text))) << "round " << round;
  }
}

}  // namespace
}  // namespace sluice

#include "sluice/base/cache_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace sluice {
namespace {

class CacheFolderTest : public ::testing::Test {
 protected:
  CacheFolderTest() : cache_(value_of("XDG_CACHE_HOME")), home_(value_of("HOME")) {}
  ~CacheFolderTest() override {
    set("XDG_CACHE_HOME", cache_.c_str());
    set("HOME", home_.c_str());
  }
  static std::string value_of(const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
  }
  static void set(const char* variable, const char* value) {
    value == nullptr ? ::unsetenv(variable) : ::setenv(variable, value, 1);
  }
  static std::filesystem::path with(const char* cache, const char* home) {
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    return cache_folder();
  }

  std::string cache_, home_;
};

TEST_F(CacheFolderTest, IsWhereTheVariablesSay) {
  EXPECT_EQ(with("/var/cache", "/home/a"), "/var/cache/sluice");
  EXPECT_EQ(with("", "/home/a"), "/home/a/.cache/sluice");
  EXPECT_EQ(with("relative", "/home/a"), "/home/a/.cache/sluice");
}

TEST_F(CacheFolderTest, IsNeverInTheWorkingFolder) {
  for (const char* home : {static_cast<const char*>(nullptr), "", ".", "relative/home"}) {
    const std::filesystem::path folder = with(nullptr, home);
    EXPECT_TRUE(folder.empty() || folder.is_absolute()) << folder;
  }
}

}  // namespace
}  // namespace sluice

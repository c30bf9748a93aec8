#include "sluice/base/line_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace sluice {
namespace {

namespace fs = std::filesystem;

TEST(LineFile, ReadersSeeEveryLine) {
  const fs::path path = fs::path(::testing::TempDir()) / ("lines_" + std::to_string(::getpid()));
  std::ofstream(path) << "of an earlier run";
  Result<LineFile> file = LineFile::create(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->add("one").ok() && file->add("two").ok());
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "one\ntwo\n");
  fs::remove(path);
}

TEST(LineFile, AFolderThatIsNotThereIsAnError) {
  const Result<LineFile> file = LineFile::create("/no/such/folder/lines");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, ::testing::HasSubstr("/no/such/folder/lines: No such file"));
}

// A limit on the size of files stands for a disk that is full for a while. What was written of a line is not written twice.
TEST(LineFile, WhatCannotBeWrittenWaits) {
  const fs::path path = fs::path(::testing::TempDir()) / ("waiting_" + std::to_string(::getpid()));
  const std::string longer(1000, 'x');
  const pid_t child = ::fork();
  if (child == 0) {  // whose limits may be changed
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit most{};
    ::getrlimit(RLIMIT_FSIZE, &most);
    const rlimit small{.rlim_cur = 500, .rlim_max = most.rlim_max};
    Result<LineFile> file = LineFile::create(path);
    ::setrlimit(RLIMIT_FSIZE, &small);
    const bool waits = file.ok() && file->add("one").ok() && !file->add(longer).ok() && !file->add("three").ok();
    ::setrlimit(RLIMIT_FSIZE, &most);
    ::_exit(waits && file->flush().ok() && file->add("four").ok() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "one\n" + longer + "\nthree\nfour\n");
  fs::remove(path);
}

}  // namespace
}  // namespace sluice

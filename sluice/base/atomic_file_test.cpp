#include "sluice/base/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kHeld = 0;  // a child's exit status: what was expected of it held

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest() : folder_(fs::path(::testing::TempDir()) / (std::string("atomic_") + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }
  // In a process of its own, whose rights and limits may be changed; the status it ends with.
  static int in_child(const std::function<bool()>& holds) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(holds() ? kHeld : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, WritesAndReplacesWholeFiles) {
  ASSERT_TRUE(write_file(folder_ / "a", "first, and longer").ok());
  EXPECT_EQ(read(folder_ / "a"), "first, and longer");
  ASSERT_TRUE(write_file(folder_ / "a", "second").ok());
  EXPECT_EQ(read(folder_ / "a"), "second");
  ASSERT_TRUE(write_file(folder_ / "a", "").ok());
  EXPECT_EQ(read(folder_ / "a"), "");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFileTest, ReadersSeeTheOldFileUntilTheCommit) {
  ASSERT_TRUE(write_file(folder_ / "a", "old").ok());
  Result<AtomicFile> file = AtomicFile::create(folder_ / "a");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file->write(megabyte).ok());
  EXPECT_EQ(read(folder_ / "a"), "old");
  EXPECT_EQ(names().size(), 2U) << "the partial file is in the same folder, so that a rename is enough";
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(fs::file_size(folder_ / "a"), 3 * megabyte.size());
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFileTest, DroppedBeforeTheCommitLeavesNothing) {
  ASSERT_TRUE(write_file(folder_ / "a", "old").ok());
  {
    Result<AtomicFile> file = AtomicFile::create(folder_ / "a");
    ASSERT_TRUE(file.ok() && file->write("half").ok());
    const AtomicFile moved = std::move(*file);
  }
  EXPECT_EQ(read(folder_ / "a"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFileTest, KilledWritersLeaveTheOldFile) {
  ASSERT_TRUE(write_file(folder_ / "a", "old").ok());
  const int status = in_child([&] {
    Result<AtomicFile> file = AtomicFile::create(folder_ / "a");
    if (!file.ok() || !file->write(std::string(100000, 'x')).ok()) return false;
    ::raise(SIGKILL);
    return false;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read(folder_ / "a"), "old");
  EXPECT_EQ(names().size(), 2U);
  ASSERT_TRUE(write_file(folder_ / "a", "new").ok());
  EXPECT_EQ(read(folder_ / "a"), "new");
  EXPECT_EQ(names(), std::vector<std::string>{"a"}) << "what the killed one left is gone";
}

// Only what nobody writes any more, and only of this file.
TEST_F(AtomicFileTest, OnlyWhatWasLeftBehindIsRemoved) {
  const std::vector<std::string> others{"a.1-x.partial", "a.partial", "a.1-2.partial.txt", "b.1-2.partial",
                                        "xa.1-2.partial"};
  for (const std::string& name : others) std::ofstream(folder_ / name) << "kept";
  std::ofstream(folder_ / "a.1-2.partial") << "left by a process that is gone";
  fs::create_directory(folder_ / "a.3-4.partial");
  Result<AtomicFile> writing = AtomicFile::create(folder_ / "a");
  ASSERT_TRUE(writing.ok() && writing->write("slow").ok());
  ASSERT_TRUE(write_file(folder_ / "a", "quick").ok());
  ASSERT_TRUE(writing->commit().ok()) << "the other one has taken it for left behind";
  EXPECT_EQ(read(folder_ / "a"), "slow");
  std::vector<std::string> expected = others;
  expected.insert(expected.end(), {"a", "a.3-4.partial"});
  std::ranges::sort(expected);
  EXPECT_EQ(names(), expected);
}

TEST_F(AtomicFileTest, AReplacedFileKeepsItsRights) {
  const fs::path path = folder_ / "a";
  const mode_t before = ::umask(022);
  for (const unsigned mode : {0600U, 0640U, 0666U, 0444U}) {
    ASSERT_TRUE(write_file(path, "old").ok());
    fs::permissions(path, fs::perms(mode));
    ASSERT_TRUE(write_file(path, "new").ok());
    EXPECT_EQ(fs::status(path).permissions(), fs::perms(mode));
  }
  ::umask(before);
}

// By root, who may give files away; a group that cannot be kept would open the file to another one.
TEST_F(AtomicFileTest, AReplacedFileKeepsItsOwnerOrClosesToTheGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
  constexpr uid_t kUser = 12345;
  constexpr gid_t kGroup = 23456;
  const fs::path path = folder_ / "a";
  const auto give = [&] {
    fs::permissions(path, fs::perms(0664));
    return ::chown(path.c_str(), kUser, kGroup) == 0;
  };
  struct stat now {};
  ASSERT_TRUE(write_file(path, "old").ok() && give() && write_file(path, "new").ok());
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, kUser);
  EXPECT_EQ(now.st_gid, kGroup);
  EXPECT_EQ(now.st_mode & 0777U, 0664U);
  fs::permissions(folder_, fs::perms::all);
  EXPECT_EQ(in_child([&] { return ::setgid(65534) == 0 && ::setuid(65534) == 0 && write_file(path, "newer").ok(); }),
            kHeld);
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, 65534U);
  EXPECT_EQ(now.st_mode & 0777U, 0644U) << "the group is another one: it gets what everybody has";
}

TEST_F(AtomicFileTest, WhoIsEndedWhileHeTriesOrWritesAtOnceLeavesNoPart) {
  const fs::path path = folder_ / "a";
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (try_to_write(path).ok() && write_file(path, "text").ok()) {
      }
      ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + 137 * round));
    ::kill(child, SIGTERM);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << "it ends all the same";
    for (const std::string& name : names()) EXPECT_EQ(name, "a") << "in round " << round;
  }
}

TEST_F(AtomicFileTest, WhatCannotBeWrittenIsFoundByTrying) {
  const fs::path path = folder_ / "a";
  EXPECT_TRUE(try_to_write(path, 1000).ok());
  EXPECT_THAT(names(), ::testing::IsEmpty()) << "nothing is left";
  EXPECT_EQ(try_to_write(folder_ / "none" / "a").error().code, ErrorCode::kIo);
  const Status full = try_to_write(path, std::uintmax_t{1} << 60);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kOutOfSpace);
  EXPECT_EQ(full.error().requested_bytes, std::int64_t{1} << 60);
  EXPECT_GT(full.error().available_bytes, 0);
  const int status = in_child([&] {
    const rlimit most{.rlim_cur = 4096, .rlim_max = 4096};
    ::setrlimit(RLIMIT_FSIZE, &most);
    const Status failed = try_to_write(path, 5000);
    return try_to_write(path, 4096).ok() && !failed.ok() &&
           failed.error().message.find("File too large; allow larger files (ulimit -f)") != std::string::npos;
  });
  EXPECT_EQ(status, kHeld);
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(try_to_write(path).ok()) << "and it waits for no reader";
}

// Two at once have files of their own, whoever finishes last stays.
TEST_F(AtomicFileTest, WritersDoNotMix) {
  Result<AtomicFile> one = AtomicFile::create(folder_ / "a");
  Result<AtomicFile> two = AtomicFile::create(folder_ / "a");
  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_TRUE(one->write("one ").ok() && two->write("two ").ok() && one->write("1").ok() && two->write("2").ok());
  ASSERT_TRUE(two->commit().ok());
  EXPECT_EQ(read(folder_ / "a"), "two 2");
  ASSERT_TRUE(one->commit().ok());
  EXPECT_EQ(read(folder_ / "a"), "one 1");
}

TEST_F(AtomicFileTest, FullDeviceIsOutOfSpace) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Status status = write_file("/dev/full", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(status.error().message, HasSubstr("cannot write /dev/full: No space left on device; make room"));
  EXPECT_TRUE(fs::is_character_file("/dev/full")) << "a device is written to, not replaced";
}

TEST_F(AtomicFileTest, WriteThatStopsHalfWayLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(write_file(folder_ / "a", "old").ok());
  const int status = in_child([&] {
    const rlimit most{.rlim_cur = 4096, .rlim_max = 4096};
    ::setrlimit(RLIMIT_FSIZE, &most);
    const Status failed = write_file(folder_ / "a", std::string(10000, 'x'));
    return !failed.ok() && failed.error().code == ErrorCode::kIo &&
           failed.error().message.find((folder_ / "a").string() + ": File too large") != std::string::npos;
  });
  EXPECT_EQ(status, kHeld);
  EXPECT_EQ(read(folder_ / "a"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFileTest, MissingFoldersAreNamed) {
  const Status status = write_file(folder_ / "none" / "a", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr((folder_ / "none" / "a").string() + ": No such file"));
  EXPECT_THAT(status.error().message, HasSubstr("make the folder " + (folder_ / "none").string() + " first"));
}

TEST_F(AtomicFileTest, FoldersAreNotReplaced) {
  fs::create_directory(folder_ / "a");
  const Status status = write_file(folder_ / "a", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("Is a directory"));
  EXPECT_TRUE(fs::is_directory(folder_ / "a"));
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFileTest, FoldersWithoutTheRightToWriteLeaveTheOldFile) {
  ASSERT_TRUE(write_file(folder_ / "a", "old").ok());
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  const int status = in_child([&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return false;  // the superuser may write anywhere
    const Status failed = write_file(folder_ / "a", "new");
    return !failed.ok() && failed.error().code == ErrorCode::kIo &&
           failed.error().message.find("Permission denied; name a file in a folder that you may write to") !=
               std::string::npos;
  });
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_EQ(status, kHeld);
  EXPECT_EQ(read(folder_ / "a"), "old");
}

TEST_F(AtomicFileTest, LinksStayLinks) {
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink("elsewhere/a", folder_ / "link");
  for (const char* text : {"made", "replaced"}) {
    ASSERT_TRUE(write_file(folder_ / "link", text).ok());
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(read(folder_ / "elsewhere" / "a"), text);
  }
}

TEST_F(AtomicFileTest, PipesAreWrittenTo) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(write_file(pipe, "through").ok() ? kHeld : 1);
  EXPECT_EQ(read(pipe), "through");
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, kHeld);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(AtomicFileTest, NewFilesHaveTheUsualRights) {
  const mode_t before = ::umask(027);
  const Status status = write_file(folder_ / "a", "text");
  ::umask(before);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(fs::status(folder_ / "a").permissions(), fs::perms(0640));
}

}  // namespace
}  // namespace sluice

// A folder of its own that may become a git repository; removed at the end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace sluice::testing {

class TestRepository {
 public:
  TestRepository() {
    std::string pattern = (std::filesystem::path(::testing::TempDir()) / "sluice-repository-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = std::filesystem::canonical(pattern);
  }
  ~TestRepository() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TestRepository(const TestRepository&) = delete;
  TestRepository& operator=(const TestRepository&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  // What git prints, without the last newline. `words` are a shell's.
  std::string git(const std::string& words) const {
    const std::string command = "git -C '" + root_.string() + "' -c user.name=a -c user.email=a@b " + words;
    FILE* output = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), part.size(), output) != nullptr) text += part.data();
    EXPECT_EQ(::pclose(output), 0) << command;
    return text.substr(0, text.find_last_not_of('\n') + 1);
  }

  // The short name of a commit with everything that is there.
  std::string commit() const {
    git("init --quiet");
    git("add --all");
    git("commit --quiet --allow-empty -m a");
    return git("rev-parse --short HEAD");
  }

 private:
  std::filesystem::path root_;
};

}  // namespace sluice::testing

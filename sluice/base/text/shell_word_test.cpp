#include "sluice/base/text/shell_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

namespace sluice {
namespace {

// What a shell makes of the word that was printed for it.
std::string read_by_shell(const std::string& word) {
  const std::string command = "printf %s " + word;
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 64> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), output.get()) != nullptr) text += buffer.data();
  return text;
}

TEST(ShellWordTest, PlainWordsStay) {
  for (const std::string word : {"--fast=20%", "a/b-c_d.onnx", "sentinel,redl", "user@host:1+2"}) {
    EXPECT_EQ(shell_word(word), word);
  }
}

TEST(ShellWordTest, AShellReadsBackWhatWasMeant) {
  for (const std::string word : {"it's mine.onnx", "$HOME", "a b", "`id`", "\"x\"", "back\\slash", "*", "~", "a;b"}) {
    EXPECT_EQ(read_by_shell(shell_word(word)), word);
  }
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace sluice

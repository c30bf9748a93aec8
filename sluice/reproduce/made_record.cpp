#include "sluice/reproduce/made_record.hpp"

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr std::size_t kHeadLines = 60;  // commands may have several lines

bool is_commit(std::string_view word) {
  return word.size() >= 7 && word.size() <= 40 && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void read_code(std::string_view words, std::map<std::string, std::string>& code) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    const std::size_t equals = word.rfind('=');
    if (equals == std::string_view::npos) continue;
    code[std::string(word.substr(0, equals))] = std::string(word.substr(equals + 1));
  }
}

}  // namespace

std::optional<MadeRecord> read_made_record(std::string_view text) {
  std::optional<MadeRecord> record;
  for (std::size_t line = 0; line < kHeadLines && !text.empty(); ++line) {
    std::string_view words = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(words.size() + 1, text.size()));
    if (record) {
      if (words.starts_with("code ")) read_code(words.substr(5), record->code);
      return record;  // the line behind the commit, or none
    }
    if (!words.starts_with("commit ")) continue;
    words.remove_prefix(7);
    const std::string_view commit = words.substr(0, words.find(' '));
    if (is_commit(commit)) record = MadeRecord{std::string(commit), words.ends_with(" dirty"), {}};
  }
  return record;
}

std::string made_record_text(const MadeRecord& record) {
  std::string text = fmt::format("commit {}{}\n", record.commit, record.dirty ? " dirty" : "");
  if (record.code.empty()) return text;
  text += "code";
  for (const auto& [path, hash] : record.code) text += fmt::format(" {}={}", path, hash);
  return text + "\n";
}

}  // namespace sluice

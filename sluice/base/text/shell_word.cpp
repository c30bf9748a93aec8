#include "sluice/base/text/shell_word.hpp"

#include <string_view>

namespace sluice {

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char each : word) {
    if (each == '\'') {
      text.append("'\\''");
    } else {
      text.push_back(each);
    }
  }
  text.push_back('\'');
  return text;
}

}  // namespace sluice

#include "sluice/reproduce/files/each.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace sluice {
namespace {

using nlohmann::json;
using Words = std::map<std::string, json>;

// Puts the words of one combination into an entry, and remembers which it has used.
class Filling {
 public:
  explicit Filling(const Words& words) : words_(words) {}

  Result<json> fill(const json& value) {
    if (value.is_string()) return fill_text(value.get_ref<const std::string&>());
    if (value.is_array()) return fill_list(value);
    if (!value.is_object()) return value;
    json filled = json::object();
    for (const auto& [key, member] : value.items()) {
      SLUICE_ASSIGN(filled[key], fill(member));
    }
    return filled;
  }

  const std::set<std::string>& used() const { return used_; }

 private:
  Result<json> word(const std::string& name) {
    const auto found = words_.find(name);
    if (found == words_.end()) return bad_input(fmt::format("nothing in \"each\" defines ${{{}}}", name));
    used_.insert(name);
    return found->second;
  }

  Result<json> fill_text(const std::string& text) {
    std::string filled;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = text.find("${", at);
      filled += text.substr(at, begin == std::string::npos ? begin : begin - at);
      if (begin == std::string::npos) break;
      const std::size_t end = text.find('}', begin);
      if (end == std::string::npos) return bad_input(fmt::format("\"{}\" has a ${{ without }}", text));
      SLUICE_ASSIGN(const json value, word(text.substr(begin + 2, end - begin - 2)));
      if (begin == 0 && end + 1 == text.size()) return value;
      if (!value.is_string()) return bad_input(fmt::format("\"{}\" puts {} into a text", text, value.dump()));
      filled += value.get<std::string>();
      at = end + 1;
    }
    return json(filled);
  }

  Result<json> fill_list(const json& list) {
    json filled = json::array();
    for (const json& element : list) {
      SLUICE_ASSIGN(json value, fill(element));
      if (element.is_string() && value.is_array()) {
        filled.insert(filled.end(), value.begin(), value.end());
      } else {
        filled.push_back(std::move(value));
      }
    }
    return filled;
  }

  const Words& words_;
  std::set<std::string> used_;
};

// Every combination of an object of each list, as one object.
Result<std::vector<Words>> combinations_of(const JsonReader& each) {
  SLUICE_ASSIGN(const std::vector<JsonReader> elements, each.elements());
  if (elements.empty()) return each.error("is empty");
  std::vector<JsonReader> lists = elements;
  if (!elements.front().value().is_array()) lists = {each};
  std::vector<Words> combinations(1);
  for (const JsonReader& list : lists) {
    SLUICE_ASSIGN(const std::vector<JsonReader> objects, list.elements());
    std::vector<Words> longer;
    for (const Words& begun : combinations) {
      for (const JsonReader& object : objects) {
        Words words;
        SLUICE_RETURN_IF_ERROR(object.read(words));
        for (const auto& [name, value] : begun) {
          if (!words.emplace(name, value).second) return object.error(fmt::format("\"{}\" is defined twice", name));
        }
        longer.push_back(std::move(words));
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

Status check_used(const JsonReader& entry, const Words& words, const std::set<std::string>& used) {
  for (const auto& [name, value] : words) {
    if (!used.contains(name)) return entry.error("each", fmt::format("nothing uses ${{{}}}", name));
  }
  return {};
}

}  // namespace

Result<std::vector<json>> expand_each(const JsonReader& entry) {
  json pattern = entry.value();
  std::vector<Words> combinations(1);
  if (entry.has("each")) {
    SLUICE_ASSIGN(const JsonReader each, entry.find("each"));
    SLUICE_ASSIGN(combinations, combinations_of(each));
    pattern.erase("each");
  }
  std::vector<json> entries;
  for (const Words& words : combinations) {
    Filling filling(words);
    Result<json> filled = filling.fill(pattern);
    if (!filled.ok()) return entry.error(filled.error().message);
    SLUICE_RETURN_IF_ERROR(check_used(entry, words, filling.used()));
    entries.push_back(*std::move(filled));
  }
  return entries;
}

}  // namespace sluice

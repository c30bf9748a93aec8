#include "sluice/reproduce/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "sluice/reproduce/files/kept_name.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMostLike = 5;

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

template <typename T>
void add_once(std::vector<T>& list, const T& element) {
  if (std::ranges::find(list, element) == list.end()) list.push_back(element);
}

void add_item(const PaperItem& item, Selection& selection) {
  add_once(selection.items, &item);
  for (const std::string& name : item.kept) add_once(selection.kept, name);
}

std::string names_like(const Catalog& catalog, const std::string& word) {
  std::vector<std::string> like;
  const auto offer = [&](const std::string& name) {
    if (like.size() < kMostLike && name.find(word) != std::string::npos) like.push_back(name);
  };
  for (const PaperItem& item : catalog.items) offer(item.id);
  for (const auto& [name, result] : catalog.kept) offer(name);
  return like.empty() ? "" : fmt::format(" (like it: {})", fmt::join(like, ", "));
}

// The result of that name; of "joint_*" all whose names begin so.
std::vector<std::string> kept_by(const Catalog& catalog, const std::string& word) {
  std::vector<std::string> names;
  if (word.ends_with('*')) {
    const std::string_view begin = std::string_view(word).substr(0, word.size() - 1);
    for (const auto& [name, result] : catalog.kept) {
      if (name.starts_with(begin)) names.push_back(name);
    }
  } else if (catalog.find_kept(word) != nullptr ||
             (check_kept_name(word).ok() && std::filesystem::exists(catalog.results() / (word + ".json")))) {
    names.push_back(word);
  }
  return names;
}

}  // namespace

Result<Selection> select(const Catalog& catalog, const std::vector<std::string>& words) {
  Selection selection;
  for (const std::string& word : words) {
    const std::string name = in_lower_case(word);
    bool known = name == "all";
    selection.all = selection.all || known;
    for (const PaperItem& item : catalog.items) {
      if (name != "all" && name != item.id && name != in_lower_case(item.paper)) continue;
      add_item(item, selection);
      known = true;
    }
    for (const std::string& kept : kept_by(catalog, word)) {
      add_once(selection.kept, kept);
      add_once(selection.asked, kept);
      known = true;
    }
    if (known) continue;
    return bad_input(fmt::format("\"{}\" is no paper, item or kept result{}; sluice reproduce list names them", word,
                                 names_like(catalog, name)));
  }
  if (selection.all) {
    for (const auto& [name, result] : catalog.kept) add_once(selection.kept, name);
  }
  return selection;
}

}  // namespace sluice

#include "sluice/reproduce/files/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "sluice/reproduce/files/hand_written_file.hpp"

namespace sluice {
namespace {

class CatalogReader {
 public:
  explicit CatalogReader(const std::filesystem::path& root) { catalog_.root = root; }

  Result<Catalog> read() && {
    const std::filesystem::path folder = catalog_.root / "benchmarks";
    for (const auto& file : json_files_of(folder / "kept")) add_kept(file);
    for (const auto& file : json_files_of(folder / "papers")) add_item(file);
    if (std::filesystem::exists(folder / "measured_code.json")) add_code(folder / "measured_code.json");
    for (const auto& [name, result] : catalog_.kept) {
      if (const auto paths = measured_paths(result, catalog_.code); !paths.ok())
        wrong_.push_back(paths.error().message);
    }
    if (!wrong_.empty()) return bad_input(fmt::format("{}", fmt::join(wrong_, "\n")));
    return std::move(catalog_);
  }

 private:
  void add_kept(const std::filesystem::path& file) {
    Result<std::vector<KeptResult>> results = read_kept_results(file);
    if (!results.ok()) {
      wrong_.push_back(results.error().message);
      return;
    }
    for (KeptResult& each : *results) {
      const auto [place, is_new] = catalog_.kept.emplace(each.name, each);
      if (is_new) continue;
      wrong_.push_back(
          fmt::format("{}: name \"{}\" is in {}, too", file.string(), each.name, place->second.file.string()));
    }
  }

  void add_item(const std::filesystem::path& file) {
    PaperItem item;
    const Status read = [&]() -> Status {
      SLUICE_ASSIGN(const nlohmann::json document, read_hand_written(file));
      const Status fields = read_json(JsonReader(document), item);
      if (fields.ok()) return {};
      return bad_input(fmt::format("{}: {}", file.string(), fields.error().message));
    }();
    if (!read.ok()) {
      wrong_.push_back(read.error().message);
    } else if (const auto [other, is_new] = files_.emplace(item.id, file); !is_new) {
      wrong_.push_back(fmt::format("{}: id \"{}\" is in {}, too", file.string(), item.id, other->second.string()));
    } else {
      catalog_.items.push_back(std::move(item));
    }
  }

  void add_code(const std::filesystem::path& file) {
    Result<MeasuredCode> code = read_measured_code(file);
    if (code.ok()) {
      catalog_.code = *std::move(code);
    } else {
      wrong_.push_back(code.error().message);
    }
  }

  Catalog catalog_;
  std::map<std::string, std::filesystem::path> files_;  // of the items
  std::vector<std::string> wrong_;
};

// Numbers within a name by their value, so that figure-10 comes after figure-7.
bool is_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char each) { return std::isdigit(static_cast<unsigned char>(each)) != 0; };
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a.front()) || !is_digit(b.front())) {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const auto digits = [&](std::string_view text) {
      return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin()));
    };
    const std::string_view left = digits(a), right = digits(b);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
    a.remove_prefix(left.size());
    b.remove_prefix(right.size());
  }
  return a.empty() && !b.empty();
}

}  // namespace

const KeptResult* Catalog::find_kept(const std::string& name) const {
  const auto found = kept.find(name);
  return found == kept.end() ? nullptr : &found->second;
}

Result<Catalog> read_catalog(const std::filesystem::path& root) {
  Result<Catalog> catalog = CatalogReader(root).read();
  if (catalog.ok()) std::ranges::sort(catalog->items, is_before, &PaperItem::id);
  return catalog;
}

Result<std::filesystem::path> find_root(const std::filesystem::path& from) {
  std::error_code unreadable;
  for (std::filesystem::path folder = std::filesystem::absolute(from);; folder = folder.parent_path()) {
    if (std::filesystem::is_directory(folder / "benchmarks" / "kept", unreadable)) return folder;
    if (folder == folder.parent_path()) break;
  }
  return bad_input(fmt::format(
      "{} is in no checkout of Sluice: no folder above it has benchmarks/kept; name one by --root", from.string()));
}

}  // namespace sluice

// The files of this repository: all of benchmarks/kept and benchmarks/papers, on docs/results as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "sluice/reproduce/evaluation.hpp"
#include "sluice/reproduce/files/catalog.hpp"
#include "sluice/reproduce/item_cells.hpp"
#include "sluice/reproduce/item_text.hpp"

namespace sluice {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const Catalog& repository_catalog() {
  static const Result<Catalog> catalog = read_catalog(SLUICE_SOURCE_FOLDER);
  SLUICE_CHECK(catalog.ok(), catalog.error().message);
  return *catalog;
}

std::vector<EvaluatedItem> evaluated_items() {
  const Catalog& catalog = repository_catalog();
  KeptStates states(catalog);
  KeptDocuments documents(catalog.results());
  std::vector<EvaluatedItem> items;
  for (const PaperItem& item : catalog.items) items.push_back(evaluate_item(item, catalog, documents, states));
  return items;
}

// Without what depends on the commit: which rows are stale.
std::string without_stale_marks(const std::string& page) {
  std::istringstream lines(page);
  std::string kept, line;
  while (std::getline(lines, line)) {
    if (line.ends_with("(stale).</p>")) continue;
    if (line.ends_with("(stale).")) {
      std::getline(lines, line);  // and the empty line behind
      continue;
    }
    for (const std::string_view mark : {" (stale)", " (age unknown)"}) {
      for (std::size_t at = line.find(mark); at != std::string::npos; at = line.find(mark)) line.erase(at, mark.size());
    }
    kept += line + "\n";
  }
  return kept;
}

TEST(KeptFilesTest, AllAreRead) {
  const auto catalog = read_catalog(SLUICE_SOURCE_FOLDER);
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  EXPECT_GT(catalog->kept.size(), 200U);
}

TEST(KeptFilesTest, MeasuredCodeIsThere) {
  const Catalog& catalog = repository_catalog();
  for (const auto& [name, result] : catalog.kept) {
    const auto paths = measured_paths(result, catalog.code);
    ASSERT_TRUE(paths.ok()) << paths.error().message;
    EXPECT_FALSE(paths->empty()) << name << " measures nothing";
    for (const std::string& path : *paths) {
      EXPECT_TRUE(std::filesystem::exists(catalog.root / path)) << name << " measures " << path;
    }
  }
}

TEST(KeptFilesTest, ScriptsOfCommandsAreThere) {
  const Catalog& catalog = repository_catalog();
  for (const auto& [name, result] : catalog.kept) {
    std::vector<CommandWords> commands = result.before;
    commands.push_back(result.command);
    for (const CommandWords& words : commands) {
      if (!words.front().starts_with("benchmarks/")) continue;
      EXPECT_TRUE(std::filesystem::exists(catalog.root / words.front())) << name << " runs " << words.front();
    }
  }
}

// Rows may be missing where their result is not kept yet. An address that leads nowhere is a mistake in the item.
TEST(KeptFilesTest, EveryAddressLeadsToANumberOrSaysWhyNot) {
  const std::vector<EvaluatedItem> items = evaluated_items();
  std::cout << count_text(count_verdicts(items)) << "\n";
  for (const EvaluatedItem& item : items) {
    for (const EvaluatedRow& row : item.rows) {
      if (row.missing.empty()) continue;
      EXPECT_THAT(row.missing, HasSubstr("is not kept yet")) << item.item->id << ", " << row.row->what;
    }
  }
}

TEST(KeptFilesTest, TheKeptPagesAreWhatIsWrittenNow) {
  const std::vector<EvaluatedItem> items = evaluated_items();
  const std::map<std::string, std::string> pages{{"papers.md", papers_markdown(items)},
                                                 {"papers.html", papers_page(items)}};
  for (const auto& [name, now] : pages) {
    std::ostringstream kept;
    kept << std::ifstream(repository_catalog().results() / name).rdbuf();
    EXPECT_EQ(without_stale_marks(kept.str()), without_stale_marks(now))
        << name << ": write it again: sluice reproduce all --no-run";
  }
}

}  // namespace
}  // namespace sluice

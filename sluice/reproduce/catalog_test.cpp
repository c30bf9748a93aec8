#include "sluice/reproduce/files/catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/reproduce/evaluation.hpp"
#include "sluice/reproduce/item_text.hpp"
#include "sluice/reproduce/selection.hpp"
#include "sluice/testing/git_repository.hpp"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string entry(const std::string& name, const std::string& how = "executed", const std::string& more = "") {
  return R"({"results": [{"name": ")" + name + R"(", "how": ")" + how + R"(", "minutes": 1, "command": ["true"])" +
         more + "}]}";
}

std::string item_of(const std::string& number, const std::string& kept, const std::string& published = "2",
                    const std::string& better = "higher") {
  return R"({"id": "home-figure-)" + number + R"(", "paper": "HOME", "item": "figure )" + number +
         R"(", "title": "A <title>", "kept": [")" + kept +
         R"("], "rows": [{"what": "speed | b", "model": "LSTM", "batch": 2,
         "scaled": "2 for 32", "setting": "pcie3", "published": )" +
         published + R"(, "published_from": "text", "unit": "x", "better": ")" + better + R"(", "ours": ")" + kept +
         R"(#/x"}]})";
}

Catalog catalog_in(const TestRepository& repository) {
  auto catalog = read_catalog(repository.root());
  EXPECT_TRUE(catalog.ok()) << catalog.error().message;
  return *std::move(catalog);
}

TEST(CatalogTest, NamesEveryFileThatIsWrong) {
  const TestRepository repository;
  repository.write("benchmarks/kept/a.json", entry("one"));
  repository.write("benchmarks/kept/b.json", entry("one"));
  repository.write("benchmarks/kept/c.json", "{");
  repository.write("benchmarks/kept/d.json", entry("two", "executed", R"(, "measures": ["unknown"])"));
  repository.write("benchmarks/papers/a.json", item_of("7", "one"));
  repository.write("benchmarks/papers/b.json", item_of("7", "one"));
  const auto catalog = read_catalog(repository.root());
  ASSERT_FALSE(catalog.ok());
  EXPECT_THAT(catalog.error().message,
              AllOf(HasSubstr("kept/b.json: name \"one\" is in "), HasSubstr("kept/c.json: "), HasSubstr("line 1"),
                    HasSubstr("two measures \"unknown\""), HasSubstr("papers/b.json: id \"home-figure-7\" is in ")));
}

TEST(CatalogTest, NumbersAreSortedAsNumbers) {
  const TestRepository repository;
  for (const char* number : {"10", "7", "5.12", "5.7"}) {
    repository.write(fmt::format("benchmarks/papers/{}.json", number), item_of(number, "one"));
  }
  std::vector<std::string> ids;
  for (const PaperItem& item : catalog_in(repository).items) ids.push_back(item.id);
  EXPECT_THAT(ids, ElementsAre("home-figure-5.7", "home-figure-5.12", "home-figure-7", "home-figure-10"));
}

TEST(CatalogTest, IsFoundUpwards) {
  const TestRepository repository;
  repository.write("benchmarks/kept/a.json", entry("one"));
  repository.write("deep/er/x", "");
  EXPECT_EQ(*find_root(repository.root() / "deep" / "er"), repository.root());
  EXPECT_THAT(find_root("/").error().message, HasSubstr("--root"));
}

TEST(SelectionTest, TakesPapersItemsAndKeptResults) {
  const TestRepository repository;
  repository.write("benchmarks/kept/a.json", entry("one"));
  repository.write("benchmarks/kept/b.json", entry("two"));
  repository.write("benchmarks/papers/a.json", item_of("7", "one"));
  const Catalog catalog = catalog_in(repository);
  EXPECT_EQ(select(catalog, {"HOME"})->items.size(), 1U);
  EXPECT_THAT(select(catalog, {"home-figure-7"})->kept, ElementsAre("one"));
  EXPECT_THAT(select(catalog, {"home", "two"})->kept, ElementsAre("one", "two"));
  EXPECT_THAT(select(catalog, {"home", "two"})->asked, ElementsAre("two"));
  EXPECT_THAT(select(catalog, {"t*"})->asked, ElementsAre("two"));
  EXPECT_FALSE(select(catalog, {"x*"}).ok());
  EXPECT_THAT(select(catalog, {"all"})->kept, ElementsAre("one", "two"));
  EXPECT_THAT(select(catalog, {"figure"}).error().message, HasSubstr("like it: home-figure-7"));
  EXPECT_FALSE(select(catalog, {"../two"}).ok());
}

TEST(EvaluationTest, SaysHowOursWasMadeAndWhatIsMissing) {
  const TestRepository repository;
  repository.write("benchmarks/kept/a.json", entry("run"));
  repository.write("benchmarks/kept/b.json", entry("simulation", "simulated"));
  repository.write("benchmarks/kept/c.json", entry("emulation", "executed", R"(, "emulated": "processors")"));
  repository.write("docs/results/run.json", R"({"x": 3, "run": {"links": [{"throttled": true}]}})");
  repository.write("docs/results/simulation.json", R"({"x": 1})");
  repository.write("docs/results/emulation.json", R"({"x": 2})");
  repository.write("benchmarks/papers/a.json", item_of("1", "run"));
  repository.write("benchmarks/papers/b.json", item_of("2", "simulation"));
  repository.write("benchmarks/papers/c.json", item_of("3", "emulation"));
  repository.write("benchmarks/papers/d.json", item_of("4", "nothing"));
  const Catalog catalog = catalog_in(repository);
  KeptStates states(catalog);
  KeptDocuments documents(catalog.results());
  std::vector<EvaluatedItem> items;
  for (const PaperItem& item : catalog.items) items.push_back(evaluate_item(item, catalog, documents, states));
  EXPECT_EQ(items[0].rows[0].how, "executed, emulated");
  EXPECT_EQ(items[0].rows[0].verdict_text(), "ahead");
  EXPECT_EQ(items[1].rows[0].how, "simulated");
  EXPECT_EQ(items[1].rows[0].verdict_text(), "behind");
  EXPECT_EQ(items[2].rows[0].how, "executed, emulated");
  EXPECT_EQ(items[2].rows[0].verdict_text(), "matches");
  EXPECT_EQ(items[3].rows[0].verdict_text(), "missing: nothing is not kept yet");
  EXPECT_FALSE(items[3].rows[0].ours.has_value());
  EXPECT_EQ(item_json(items[3])["rows"][0]["ours"], nlohmann::json());
  EXPECT_THAT(item_text(items[0]),
              AllOf(HasSubstr("2 (scaled)"), HasSubstr("  2x  "), HasSubstr("3.00x"), HasSubstr("Scaled: 2 for 32\n")));
}

TEST(EvaluationTest, PagesLeaveNothingToTheirLanguages) {
  const TestRepository repository;
  repository.write("benchmarks/papers/a.json", item_of("1", "run"));
  repository.write("docs/results/run.json", R"({"x": 3})");
  const Catalog catalog = catalog_in(repository);
  KeptStates states(catalog);
  KeptDocuments documents(catalog.results());
  const std::vector<EvaluatedItem> items = {evaluate_item(catalog.items[0], catalog, documents, states)};
  EXPECT_THAT(papers_markdown(items), AllOf(HasSubstr("| speed \\| b |"), HasSubstr("A \\<title>")));
  EXPECT_THAT(papers_page(items),
              AllOf(HasSubstr("A &lt;title&gt;"), Not(HasSubstr("<script")), Not(HasSubstr("http"))));
}

}  // namespace
}  // namespace sluice

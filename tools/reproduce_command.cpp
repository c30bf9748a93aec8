// sluice reproduce: the papers' figures and tables beside ours, and the kept results that they read.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "sluice/report/run_record.hpp"
#include "sluice/reproduce/catalog.hpp"
#include "sluice/reproduce/evaluation.hpp"
#include "sluice/reproduce/item_cells.hpp"
#include "sluice/reproduce/item_text.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"

namespace sluice {
namespace {

struct ReproduceArguments {
  std::vector<std::string> ids;
  std::string root;
  bool no_run = false;
  std::string json;
};

Result<int> run_reproduce(const ReproduceArguments& arguments) {
  std::filesystem::path root = arguments.root;
  if (root.empty()) {
    SLUICE_ASSIGN(root, find_root(std::filesystem::current_path()));
  }
  SLUICE_ASSIGN(const Catalog catalog, read_catalog(root));
  KeptStates states(catalog);
  KeptDocuments documents(catalog.results());
  std::vector<EvaluatedItem> items;
  for (const PaperItem& item : catalog.items) {
    const bool all = std::ranges::count(arguments.ids, "all") > 0;
    if (!all && std::ranges::count(arguments.ids, item.id) == 0) continue;
    items.push_back(evaluate_item(item, catalog, documents, states));
    fmt::print("{}\n", item_text(items.back()));
  }
  fmt::print("{}\n{}\n", count_text(count_verdicts(items)), stale_text(count_verdicts(items)));
  return kExitOk;
}

}  // namespace

void add_reproduce_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("reproduce", "The papers' figures and tables beside ours");
  auto arguments = std::make_shared<ReproduceArguments>();
  command->add_option("ID", arguments->ids, "list, all, a paper, an item or a kept result")->required();
  command->add_option("--root", arguments->root, "The checkout (default: found upwards from the current folder)")
      ->check(CLI::ExistingDirectory);
  command->add_flag("--no-run", arguments->no_run, "Only show what is kept");
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice reproduce sentinel-figure-7 --no-run");
  command->callback([arguments, &action] { action = [arguments] { return run_reproduce(*arguments); }; });
}

}  // namespace sluice

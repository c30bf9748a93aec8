// sluice reproduce: the papers' figures and tables beside ours, and making the kept results that they read.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "sluice/base/atomic_file.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/reproduce/evaluation.hpp"
#include "sluice/reproduce/files/catalog.hpp"
#include "sluice/reproduce/item_cells.hpp"
#include "sluice/reproduce/item_text.hpp"
#include "sluice/reproduce/kept_needs.hpp"
#include "sluice/reproduce/making.hpp"
#include "sluice/reproduce/selection.hpp"
#include "sluice/reproduce/state_list.hpp"
#include "sluice/train/interrupt.hpp"
#include "sluice/train/progress.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"

namespace sluice {
namespace {

struct ReproduceArguments {
  std::vector<std::string> ids;
  std::string root, spill;
  bool no_run = false, again = false, dry_run = false;
  std::string json;

  bool lists() const { return std::ranges::find(ids, "list") != ids.end(); }
};

Status check(const ReproduceArguments& arguments) {
  if (arguments.lists() && arguments.ids.size() > 1) return bad_input("list stands alone: it shows everything");
  if (arguments.no_run && arguments.again) return bad_input("--no-run and --again exclude each other");
  if (arguments.no_run && arguments.dry_run) return bad_input("--no-run and --dry-run exclude each other");
  return {};
}

// Where commands put large files: as results were always made, $SLUICE_SPILL or the checkout's build folder.
std::filesystem::path spill_folder(const ReproduceArguments& arguments, const Catalog& catalog) {
  const char* variable = std::getenv("SLUICE_SPILL");
  if (!arguments.spill.empty()) return std::filesystem::absolute(arguments.spill);
  return variable != nullptr && *variable != '\0' ? std::filesystem::absolute(variable) : catalog.root / "build";
}

MakingOutcome make_with_progress(const std::vector<KeptTask>& tasks, KeptMaker& maker) {
  const InterruptGuard guard;
  ProgressLine line("making kept results, expected seconds");
  MakingWatch watch;
  watch.goes_on = [&] { return !guard.interrupted(); };
  watch.progress = [&](const MakingProgress& progress) {
    line.update(std::llround(progress.done_seconds), std::llround(progress.all_seconds),
                fmt::format("{} of {}: {}", progress.number, progress.count, progress.name));
  };
  watch.tell = [&](const std::string& told) {
    line.clear();
    fmt::print("{}\n", told);
    std::fflush(stdout);
  };
  return make_all(tasks, maker, watch);
}

void print_tasks(const std::vector<KeptTask>& tasks) {
  for (const KeptTask& task : tasks) {
    const std::string why = task.state.why.empty() ? "" : " " + task.state.why;
    const std::string what = task.skipped.empty() ? fmt::format("would make ({:g} minutes)", task.result->minutes)
                                                  : fmt::format("would skip ({})", task.skipped);
    fmt::print("{} {}: {}{}\n", what, task.result->name, to_string(task.state.kind), why);
  }
  fmt::print("about {:.0f} minutes on two idle cores\n", minutes_of(tasks));
}

Result<MakingOutcome> make_selected(const ReproduceArguments& arguments, const Catalog& catalog,
                                    const Selection& selection) {
  KeptStates states(catalog);
  const std::filesystem::path spill = spill_folder(arguments, catalog);
  KeptNeeds needs(catalog.root, spill);
  const auto lacks = [&](const KeptResult& result) { return needs.lacks(result); };
  const std::vector<KeptTask> tasks = tasks_of(selection, catalog, states, arguments.again, lacks);
  if (arguments.dry_run) {
    print_tasks(tasks);
    return MakingOutcome{};
  }
  SLUICE_ASSIGN(KeptMaker maker, KeptMaker::start(catalog, std::filesystem::read_symlink("/proc/self/exe"), spill));
  return make_with_progress(tasks, maker);
}

void print_kept(const Selection& selection, const Catalog& catalog, KeptStates& states) {
  for (const std::string& name : selection.asked) {
    const KeptState state = states.of(name);
    fmt::print("{}: {}{}{}\n", (catalog.results() / name).lexically_relative(catalog.root).string(),
               to_string(state.kind), state.why.empty() ? "" : " ", state.why);
  }
}

// The verdicts, in the terminal, and for `all` as pages.
Result<nlohmann::json> show(const Catalog& catalog, const Selection& selection) {
  KeptStates states(catalog);
  KeptDocuments documents(catalog.results());
  std::vector<EvaluatedItem> items;
  for (const PaperItem* item : selection.items) items.push_back(evaluate_item(*item, catalog, documents, states));
  nlohmann::json list = nlohmann::json::array();
  for (const EvaluatedItem& item : items) {
    fmt::print("{}\n", item_text(item));
    list.push_back(item_json(item));
  }
  print_kept(selection, catalog, states);
  const VerdictCount count = count_verdicts(items);
  if (!items.empty()) fmt::print("{}\n", count_text(count));
  if (count.stale > 0) fmt::print("{}\n", stale_text(count));
  if (selection.all) {
    SLUICE_RETURN_IF_ERROR(write_file(catalog.results() / "papers.md", papers_markdown(items)));
    SLUICE_RETURN_IF_ERROR(write_file(catalog.results() / "papers.html", papers_page(items)));
    fmt::print("written: docs/results/papers.md and docs/results/papers.html\n");
  }
  return nlohmann::json{{"items", list}, {"kept", kept_states_json(catalog, states)}};
}

nlohmann::json outcome_json(const MakingOutcome& outcome) {
  nlohmann::json document = {
      {"made", outcome.made}, {"failed", nlohmann::json::object()}, {"skipped", nlohmann::json::object()}};
  for (const auto& [name, why] : outcome.failed) document["failed"][name] = why;
  for (const auto& [name, why] : outcome.skipped) document["skipped"][name] = why;
  return document;
}

Result<Catalog> find_catalog(const ReproduceArguments& arguments) {
  std::filesystem::path root = arguments.root;
  if (root.empty()) {
    SLUICE_ASSIGN(root, find_root(std::filesystem::current_path()));
  }
  return read_catalog(std::filesystem::canonical(root));
}

Result<int> run_list(const ReproduceArguments& arguments, const Catalog& catalog) {
  KeptStates states(catalog);
  KeptNeeds needs(catalog.root, spill_folder(arguments, catalog));
  fmt::print("{}", state_list_text(catalog, states, [&](const KeptResult& result) { return needs.lacks(result); }));
  if (arguments.json.empty()) return kExitOk;
  nlohmann::json items = nlohmann::json::array();
  for (const PaperItem& item : catalog.items) items.push_back(item_json({&item, {}}));
  SLUICE_RETURN_IF_ERROR(
      write_document(arguments.json, "reproduce", {{"items", items}, {"kept", kept_states_json(catalog, states)}}));
  return kExitOk;
}

Result<int> run_reproduce(const ReproduceArguments& arguments) {
  SLUICE_RETURN_IF_ERROR(check(arguments));
  SLUICE_ASSIGN(const Catalog catalog, find_catalog(arguments));
  if (arguments.lists()) return run_list(arguments, catalog);
  SLUICE_ASSIGN(const Selection selection, select(catalog, arguments.ids));
  MakingOutcome outcome;
  if (!arguments.no_run) {
    SLUICE_ASSIGN(outcome, make_selected(arguments, catalog, selection));
  }
  if (arguments.dry_run) return kExitOk;
  if (outcome.interrupted) {
    return Error{
        ErrorCode::kInterrupted,
        fmt::format("interrupted; {} made in this run stay, and the same command goes on", outcome.made.size())};
  }
  SLUICE_ASSIGN(nlohmann::json document, show(catalog, selection));
  document.update(outcome_json(outcome));
  SLUICE_RETURN_IF_ERROR(write_document(arguments.json, "reproduce", document));
  return outcome.failed.empty() ? kExitOk : kExitFailed;
}

}  // namespace

void add_reproduce_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "reproduce", "The papers' figures and tables beside ours; makes the kept results that are missing or stale");
  auto arguments = std::make_shared<ReproduceArguments>();
  command
      ->add_option("ID", arguments->ids,
                   "list; or all, a paper (sentinel), an item (sentinel-figure-7), or a kept result (resnet50_b16)")
      ->required();
  command->add_option("--root", arguments->root, "The checkout (default: found upwards from the current folder)")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("--spill-dir", arguments->spill,
                   "For large files (default: $SLUICE_SPILL, or build/ of the checkout)")
      ->type_name("FOLDER");
  command->add_flag("--no-run", arguments->no_run, "Make nothing: show what is kept");
  command->add_flag("--again", arguments->again, "Make what is kept and not stale, too");
  command->add_flag("--dry-run", arguments->dry_run, "Only show what would be made, and how long that takes");
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice reproduce sentinel-figure-7 --no-run");
  command->callback([arguments, &action] { action = [arguments] { return run_reproduce(*arguments); }; });
}

}  // namespace sluice

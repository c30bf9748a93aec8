// How good every planner's plans are on kept problems and machines, which no machine can disturb: simulated step over
// fast-only's, the bound, bytes moved, time to plan.
//
//   planner_table FOLDER [--planners sentinel,joint] [--problems lstm,vgg16] [--machines 1,2] [--budgets 20,40]
//                 [--json FILE] [--against FILE]
//   planner_table --show FILE... [--json FILE]
//
// FOLDER holds problems (keep_problem). --json is written anew after every problem. --against: an earlier --json; ends
// with 1 where a plan has become slower than its row there. --show: rows of earlier runs together, without planning.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "benchmarks/planners/planner_rows.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/train/progress.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

struct TableArguments {
  std::string folder, json, against;
  std::vector<std::string> problems, shown;
  RowsWanted wanted;
};

Result<std::vector<KeptProblem>> read_problems(const TableArguments& arguments) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(arguments.folder)) {
    const bool named = arguments.problems.empty() ||
                       std::ranges::find(arguments.problems, entry.path().stem().string()) != arguments.problems.end();
    if (named && entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<KeptProblem> problems;
  for (const fs::path& file : files) {
    SLUICE_ASSIGN(KeptProblem problem, read_problem(file));
    problems.push_back(std::move(problem));
  }
  return problems;
}

Status keep_rows(const TableArguments& arguments, const std::vector<PlannerRow>& rows) {
  if (arguments.json.empty()) return {};
  return write_json_file(arguments.json, {{"sluice", kVersion}, {"rows", rows_json(rows)}});
}

Result<std::vector<PlannerRow>> plan_problems(const TableArguments& arguments) {
  SLUICE_ASSIGN(const std::vector<KeptProblem> problems, read_problems(arguments));
  ProgressLine progress("planning");
  std::vector<PlannerRow> rows;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    progress.update(static_cast<std::int64_t>(i), static_cast<std::int64_t>(problems.size()), problems[i].model);
    for (PlannerRow& row : rows_of(problems[i], arguments.wanted)) rows.push_back(std::move(row));
    SLUICE_RETURN_IF_ERROR(keep_rows(arguments, rows));
  }
  return rows;
}

Result<std::vector<PlannerRow>> read_rows(const std::vector<std::string>& files) {
  std::vector<PlannerRow> rows;
  for (const std::string& file : files) {
    SLUICE_ASSIGN(const nlohmann::json document, read_json_file(file));
    SLUICE_ASSIGN(const std::vector<PlannerRow> read, rows_from_json(document));
    rows.insert(rows.end(), read.begin(), read.end());
  }
  return rows;
}

Result<int> run(const TableArguments& arguments) {
  if (arguments.folder.empty() == arguments.shown.empty())
    return bad_input("name a folder of problems, or --show FILE");
  SLUICE_ASSIGN(const std::vector<PlannerRow> rows,
                arguments.shown.empty() ? plan_problems(arguments) : read_rows(arguments.shown));
  SLUICE_RETURN_IF_ERROR(keep_rows(arguments, rows));
  fmt::print("{}", describe_rows(rows));
  if (arguments.against.empty()) return 0;
  SLUICE_ASSIGN(const std::vector<PlannerRow> kept, read_rows({arguments.against}));
  const std::vector<std::string> worse = worse_than(kept, rows);
  for (const std::string& each : worse) fmt::print(stderr, "worse: {}\n", each);
  return worse.empty() ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::TableArguments arguments;
  CLI::App app("Plans kept problems with every planner and simulates the plans");
  app.add_option("folder", arguments.folder, "Problems")->check(CLI::ExistingDirectory);
  app.add_option("--planners", arguments.wanted.planners, "Only these")->delimiter(',');
  app.add_option("--problems", arguments.problems, "Only these files, without .json")->delimiter(',');
  app.add_option("--machines", arguments.wanted.machines, "Only these, from 1, in the order of the table")
      ->delimiter(',');
  app.add_option("--budgets", arguments.wanted.percents, "Per cent of what everything takes")->delimiter(',');
  app.add_option("--json", arguments.json, "Also write the rows to this file");
  app.add_option("--against", arguments.against, "Rows that none may be worse than");
  app.add_option("--show", arguments.shown, "Rows that were kept, instead of planning");
  CLI11_PARSE(app, argc, argv);
  const auto result = sluice::run(arguments);
  if (result.ok()) return *result;
  fmt::print(stderr, "planner_table: {}\n", result.error().message);
  return 2;
}

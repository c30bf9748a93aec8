// Plans kept problems with planners and policies, and simulates the plans; benchmarks/planner_table.py shows the rows.
//
//   planner_table FOLDER --json FILE [--planners sentinel,joint] [--problems lstm,vgg16] [--machines 1,2] [--budgets 20,40]
//
// FOLDER holds problems (keep_problem). FILE is written anew after every problem.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "benchmarks/planners/planner_rows.hpp"
#include "sluice/base/as_index.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/report/run_record.hpp"

namespace sluice::benchmarks {
namespace {

namespace fs = std::filesystem;

struct TableArguments {
  std::string folder, json;
  std::vector<std::string> problems;
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

Status plan_problems(const TableArguments& arguments) {
  SLUICE_ASSIGN(const std::vector<KeptProblem> problems, read_problems(arguments));
  ProgressLine progress("planning");
  std::vector<PlannerRow> rows;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    progress.update(as_id<std::int64_t>(i), std::ssize(problems), problems[i].model);
    for (PlannerRow& row : rows_of(problems[i], arguments.wanted)) rows.push_back(std::move(row));
    SLUICE_RETURN_IF_ERROR(
        report::write_json_file(arguments.json, {{"sluice", report::kVersion}, {"rows", rows_json(rows)}}));
  }
  return {};
}

}  // namespace
}  // namespace sluice::benchmarks

int main(int argc, char** argv) {
  sluice::benchmarks::TableArguments arguments;
  CLI::App app("Plans kept problems with every planner and simulates the plans");
  app.add_option("folder", arguments.folder, "Problems")->required()->check(CLI::ExistingDirectory);
  app.add_option("--planners", arguments.wanted.planners, "Only these")->delimiter(',');
  app.add_option("--problems", arguments.problems, "Only these files, without .json")->delimiter(',');
  app.add_option("--machines", arguments.wanted.machines, "Only these, from 1, in the order of the table")
      ->delimiter(',');
  app.add_option("--budgets", arguments.wanted.percents, "Per cent of what everything takes")->delimiter(',');
  app.add_option("--json", arguments.json, "Where the rows go")->required();
  CLI11_PARSE(app, argc, argv);
  const sluice::Status planned = sluice::benchmarks::plan_problems(arguments);
  if (planned.ok()) return 0;
  fmt::print(stderr, "planner_table: {}\n", planned.error().message);
  return 2;
}

#include "benchmarks/planners/planner_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "benchmarks/planners/contest.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice {
namespace {

// A last digit of a linear program, rounded otherwise by another processor, may decide between two plans that are about as
// good under noise and differ by a per cent or two without.
constexpr double kNoWorse = 1.025;

}  // namespace

std::vector<PlannerRow> rows_of(const KeptProblem& problem, const RowsWanted& wanted) {
  std::vector<PlannerRow> rows;
  const Bytes whole = fast_only_bytes(problem.graph);
  std::vector<KeptMachine> machines = kept_machines(whole);
  for (std::size_t i = 0; i < machines.size(); ++i) {
    if (std::ranges::find(wanted.machines, i + 1) == wanted.machines.end()) continue;
    Contest contest(problem, std::move(machines[i]), whole);
    for (const int percent : wanted.percents) {
      for (const std::string& planner : wanted.planners) rows.push_back(contest.row(planner, percent));
    }
  }
  return rows;
}

namespace {

constexpr std::string_view kExpects = " expects";  // behind the name of a planner: a column of its program's answers

std::string named_expectation(const std::string& planner) { return planner + std::string(kExpects); }

// Rows of one machine and budget. What a planner's program expects is a row like that of a plan.
class Group {
 public:
  explicit Group(std::span<const PlannerRow> rows) : rows_(rows.begin(), rows.end()) {
    for (const PlannerRow& row : rows) {
      add_unknown(planners_, row.planner);
      add_unknown(problems_, row.problem);
      if (row.failure.empty() && row.expected > 0) add_expectation(row);
    }
  }

  std::string text() const {
    std::vector<TableColumn> columns{{"", Align::kLeft, 0}};
    for (const std::string& column : all_columns()) columns.push_back({column, Align::kRight, 0});
    columns.push_back({"bound", Align::kRight, 0});
    TextTable table(std::move(columns));
    for (const std::string& problem : problems_) table.add_row(problem_cells(problem));
    add_means(table);
    add_distances(table);
    add_costs(table);
    return table.text();
  }

 private:
  using Rows = std::vector<const PlannerRow*>;

  static void add_unknown(std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }

  void add_expectation(const PlannerRow& row) {
    PlannerRow& expectation = rows_.emplace_back(row);
    expectation.planner = named_expectation(row.planner);
    expectation.slowdown = row.expected;
    add_unknown(expectations_, expectation.planner);
  }

  std::vector<std::string> all_columns() const {
    std::vector<std::string> columns = planners_;
    columns.insert(columns.end(), expectations_.begin(), expectations_.end());
    return columns;
  }

  void add_means(TextTable& table) const {
    table.add_row(cells("geometric mean", [](const Rows& rows) {
      return fmt::format("{:.3f}", std::exp(mean(rows, [](const PlannerRow& row) { return std::log(row.slowdown); })));
    }));
    table.add_row(cells("mean gap", [](const Rows& rows) { return percents_of(rows, &PlannerRow::gap); }));
    table.add_row(cells("in its order", [](const Rows& rows) { return percents_of(rows, &PlannerRow::order_gap); }));
  }

  // Of each planner to what each program's answer comes to, and of that to what is proved.
  void add_distances(TextTable& table) const {
    for (const std::string& expectation : expectations_) {
      table.add_row(cells("over what " + expectation, [&](const Rows& rows) {
        const double log_mean = mean(rows, [&](const PlannerRow& row) {
          const PlannerRow* const optimum = find(row.problem, expectation);
          return optimum == nullptr ? 0 : std::log(row.slowdown / optimum->slowdown);
        });
        return fmt::format("{:+.1f} %", 100 * (std::exp(log_mean) - 1));
      }));
    }
    if (expectations_.empty()) return;
    table.add_row(cells("solver's gap, worst", [](const Rows& rows) {
      double worst = 0;
      for (const PlannerRow* row : rows) worst = std::max(worst, 1 - row->proved / row->slowdown);
      return is_expectation(*rows.front()) ? fmt::format("{:.1f} %", 100 * worst) : "";
    }));
    table.add_row(cells("solved again", [](const Rows& rows) {
      const auto again = std::ranges::count_if(rows, [](const PlannerRow* row) { return row->solved > 1; });
      return is_expectation(*rows.front()) ? fmt::format("{} of {}", again, rows.size()) : "";
    }));
  }

  void add_costs(TextTable& table) const {
    table.add_row(cells("GiB moved, mean", [](const Rows& rows) {
      const auto moved = [](const PlannerRow& row) {
        return static_cast<double>(row.moved) / static_cast<double>(kGiB);
      };
      return is_expectation(*rows.front()) ? "" : fmt::format("{:.2f}", mean(rows, moved));
    }));
    table.add_row(cells("s to plan, mean", [](const Rows& rows) {
      return is_expectation(*rows.front()) ? "" : fmt::format("{:.2f}", mean(rows, &PlannerRow::planning));
    }));
  }

  static bool is_expectation(const PlannerRow& row) { return row.planner.ends_with(kExpects); }

  template <typename Figure>
  static double mean(const Rows& rows, Figure figure) {
    double sum = 0;
    for (const PlannerRow* row : rows) sum += std::invoke(figure, *row);
    return sum / static_cast<double>(rows.size());
  }

  static std::string percents_of(Rows rows, double (PlannerRow::*gap)() const) {
    std::erase_if(rows, [](const PlannerRow* row) { return row->bound == 0; });
    return rows.empty() ? "" : fmt::format("{:.1f} %", 100 * mean(rows, gap));
  }

  const PlannerRow* find(const std::string& problem, const std::string& planner) const {
    const auto row = std::ranges::find_if(
        rows_, [&](const PlannerRow& each) { return each.problem == problem && each.planner == planner; });
    return row == rows_.end() || !row->failure.empty() ? nullptr : &*row;
  }

  // Of the plans there are.
  template <typename Text>
  std::vector<std::string> cells(const std::string& title, Text text_of) const {
    std::vector<std::string> row{title};
    for (const std::string& column : all_columns()) {
      Rows found;
      for (const std::string& problem : problems_) {
        if (const PlannerRow* const each = find(problem, column)) found.push_back(each);
      }
      row.push_back(found.empty() ? std::string() : std::string(text_of(found)));
    }
    row.push_back("");
    return row;
  }

  std::vector<std::string> problem_cells(const std::string& problem) const {
    std::vector<std::string> cells{problem};
    double bound = 0;
    for (const std::string& column : all_columns()) {
      const PlannerRow* const row = find(problem, column);
      if (row == nullptr) {
        cells.push_back("none");
        continue;
      }
      const bool raised = row->asked > 0 && row->budget > row->asked;
      cells.push_back(fmt::format("{:.3f}{}", row->slowdown, raised ? "*" : ""));
      if (row->bound > 0 && !raised && (bound == 0 || row->bound < bound)) bound = row->bound;
    }
    cells.push_back(bound == 0 ? "" : fmt::format("{:.3f}", bound));
    return cells;
  }

  std::vector<std::string> planners_, expectations_, problems_;
  std::vector<PlannerRow> rows_;
};

std::string name_of(const PlannerRow& row) {
  return fmt::format("{}, {}, {} %, {}", row.problem, row.machine, row.percent, row.planner);
}

}  // namespace

std::string describe_rows(std::span<const PlannerRow> rows) {
  std::vector<PlannerRow> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, {}, [](const PlannerRow& row) { return std::pair(row.machine, row.percent); });
  std::string text;
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = std::find_if(begin, sorted.end(), [&](const PlannerRow& row) {
      return row.machine != begin->machine || row.percent != begin->percent;
    });
    text += fmt::format("{}{}, {} % of what everything takes (simulated)\n\n{}", text.empty() ? "" : "\n",
                        begin->machine, begin->percent, Group(std::span(begin, end)).text());
    begin = end;
  }
  return text + "\nslowdown over fast-only; *: with the smallest budget that the planner can use, which is more\n";
}

nlohmann::json rows_json(std::span<const PlannerRow> rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const PlannerRow& row : rows) {
    nlohmann::json object{{"problem", row.problem},
                          {"machine", row.machine},
                          {"percent", row.percent},
                          {"asked_bytes", row.asked},
                          {"planner", row.planner}};
    if (row.failure.empty()) {
      object.update({{"budget_bytes", row.budget},
                     {"slowdown", row.slowdown},
                     {"bound", row.bound},
                     {"order_bound", row.order_bound},
                     {"moved_bytes", row.moved},
                     {"planning_seconds", row.planning}});
      if (row.expected > 0) {
        object.update({{"expected", row.expected}, {"proved", row.proved}, {"solved", row.solved}});
      }
    } else {
      object["failure"] = row.failure;
    }
    list.push_back(std::move(object));
  }
  return list;
}

Result<std::vector<PlannerRow>> rows_from_json(const nlohmann::json& document) {
  SLUICE_ASSIGN(const std::vector<JsonReader> list, JsonReader(document).list("rows"));
  std::vector<PlannerRow> rows;
  for (const JsonReader& each : list) {
    PlannerRow& row = rows.emplace_back();
    SLUICE_RETURN_IF_ERROR(each.read("problem", row.problem));
    SLUICE_RETURN_IF_ERROR(each.read("machine", row.machine));
    SLUICE_RETURN_IF_ERROR(each.read("percent", row.percent));
    SLUICE_RETURN_IF_ERROR(each.read("planner", row.planner));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("failure", row.failure));
    if (!row.failure.empty()) continue;
    SLUICE_RETURN_IF_ERROR(each.read_figure("slowdown", row.slowdown));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("asked_bytes", row.asked));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("budget_bytes", row.budget));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("bound", row.bound));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("order_bound", row.order_bound));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("moved_bytes", row.moved));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("planning_seconds", row.planning));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("expected", row.expected));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("proved", row.proved));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("solved", row.solved));
  }
  return rows;
}

std::vector<std::string> worse_than(std::span<const PlannerRow> kept, std::span<const PlannerRow> rows) {
  std::vector<std::string> worse;
  for (const PlannerRow& before : kept) {
    if (!before.failure.empty()) continue;
    const auto now = std::ranges::find(rows, name_of(before), name_of);
    if (now == rows.end()) continue;
    if (!now->failure.empty()) worse.push_back(name_of(before) + ": " + now->failure);
    if (now->failure.empty() && now->slowdown > kNoWorse * before.slowdown) {
      worse.push_back(fmt::format("{}: {:.3f}, before {:.3f}", name_of(before), now->slowdown, before.slowdown));
    }
  }
  return worse;
}

}  // namespace sluice

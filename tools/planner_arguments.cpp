#include "tools/planner_arguments.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>

#include "sluice/base/progress/progress.hpp"
#include "sluice/planners/ilp/integer_program.hpp"
#include "sluice/train/interrupt.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"

namespace sluice::cli {

void PlannerArguments::add_to(CLI::App& command) {
  command.add_option("--planner", name, planner_help())->type_name("PLANNER")->capture_default_str();
  command
      .add_option("--planning-time", most_seconds,
                  "Seconds to look for a better plan at most (default: until the search ends); Ctrl-C also ends it "
                  "with the best plan so far")
      ->type_name("SECONDS");
  add_output_file(command, "--program", program,
                  "Also write the integer program that the planner solves to this file, in MPS, for other solvers "
                  "(autotm-static, autotm-sync, autotm-async, checkmate)");
}

Status PlannerArguments::check() const {
  if (!most_seconds || *most_seconds > 0) return {};
  return bad_input(fmt::format("--planning-time must be above 0, got {:g}", *most_seconds));
}

struct AttendedPlanning::State {
  using Clock = std::chrono::steady_clock;

  train::InterruptGuard guard;
  ProgressLine progress{"planning"};
  Clock::time_point start = Clock::now();
  std::optional<Seconds> most_seconds;
  std::optional<Seconds> cut_short;   // after so many seconds
  bool in_haste = false;              // no note of that
  std::optional<Seconds> best_shown;  // that was shown last
  std::string program;                // the file, or none
  std::optional<Status> written;      // nothing: there was no program
  std::vector<planners::SearchRound> rounds;

  Seconds elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  bool stop() {
    const bool over = guard.interrupted() || (most_seconds && elapsed() > *most_seconds);
    if (over && !cut_short) cut_short = elapsed();
    return over;
  }

  void show(double done, const std::optional<Seconds>& best) {
    constexpr double kWhole = 100;
    if (best && (!best_shown || *best < *best_shown)) {
      spdlog::debug("planning, {:.0f} % of the search: a plan of {} a step, the best so far", kWhole * done,
                    format_seconds(*best));
      best_shown = best;
    }
    const std::string detail = best ? fmt::format("best so far {} a step", format_seconds(*best)) : "no plan yet";
    progress.update(static_cast<std::int64_t>(kWhole * done), static_cast<std::int64_t>(kWhole), detail);
  }

  void write(const planners::IntegerProgram& solved) {
    if (!program.empty()) written = planners::write_mps(solved, program);
  }

  void show_solver(double done, Seconds incumbent, Seconds bound) {
    const std::string detail = std::isfinite(incumbent)
                                   ? fmt::format("solving: {} a step expected, gap {:.1f} %", format_seconds(incumbent),
                                                 100 * (incumbent - bound) / incumbent)
                                   : "solving: no answer yet";
    progress.update(static_cast<std::int64_t>(100 * done), 100, detail);
  }
};

AttendedPlanning::AttendedPlanning(const PlannerArguments& arguments) : state_(std::make_shared<State>()) {
  state_->most_seconds = arguments.most_seconds;
  state_->program = arguments.program;
  state_->in_haste = arguments.in_haste;
}

AttendedPlanning::~AttendedPlanning() {
  state_->progress.clear();
  if (!state_->cut_short || state_->in_haste) return;
  print_notes(
      {fmt::format("the search for a plan was cut short after {:.1f} s; a plan that follows is the best until then",
                   *state_->cut_short)});
}

Status AttendedPlanning::program_written() const {
  if (state_->program.empty()) return {};
  if (state_->written) return *state_->written;
  return bad_input(
      "--program: this planner solves no integer program; autotm-static, autotm-sync, autotm-async and checkmate do");
}

const std::vector<planners::SearchRound>& AttendedPlanning::rounds() const { return state_->rounds; }

std::shared_ptr<const planners::PlanningWatch> AttendedPlanning::watch() const {
  const std::weak_ptr<State> state = state_;
  return std::make_shared<const planners::PlanningWatch>(
      planners::PlanningWatch{.progress =
                                  [state](double done, const std::optional<Seconds>& best) {
                                    if (const auto attended = state.lock()) attended->show(done, best);
                                  },
                              .stop =
                                  [state] {
                                    const auto attended = state.lock();
                                    return attended && attended->stop();
                                  },
                              .out_of_time =
                                  [state] {
                                    const auto attended = state.lock();
                                    return attended && !attended->guard.interrupted();
                                  },
                              .program =
                                  [state](const planners::IntegerProgram& program) {
                                    if (const auto attended = state.lock()) attended->write(program);
                                  },
                              .solving =
                                  [state](double done, Seconds incumbent, Seconds bound) {
                                    if (const auto attended = state.lock())
                                      attended->show_solver(done, incumbent, bound);
                                  },
                              .rounds =
                                  [state](const std::vector<planners::SearchRound>& rounds) {
                                    if (const auto attended = state.lock()) attended->rounds = rounds;
                                  }});
}

}  // namespace sluice::cli

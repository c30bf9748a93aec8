#include "tools/planner_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "sluice/train/interrupt.hpp"
#include "sluice/train/progress.hpp"
#include "tools/options.hpp"

namespace sluice {

void PlannerArguments::add_to(CLI::App& command) {
  command.add_option("--planner", name, planner_help())->capture_default_str();
  command.add_option("--planning-time", most_seconds,
                     "Seconds to look for a better plan at most (default: until the search ends); Ctrl-C also ends it "
                     "with the best plan so far");
}

Status PlannerArguments::check() const {
  if (!most_seconds || *most_seconds > 0) return {};
  return bad_input(fmt::format("--planning-time must be above 0, got {:g}", *most_seconds));
}

struct AttendedPlanning::State {
  using Clock = std::chrono::steady_clock;

  InterruptGuard guard;
  ProgressLine progress{"planning"};
  Clock::time_point start = Clock::now();
  std::optional<Seconds> most_seconds;
  std::optional<Seconds> cut_short;  // after so many seconds

  Seconds elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  bool stop() {
    const bool over = guard.interrupted() || (most_seconds && elapsed() > *most_seconds);
    if (over && !cut_short) cut_short = elapsed();
    return over;
  }

  void show(double done, const std::optional<Seconds>& best) {
    constexpr double kWhole = 100;
    const std::string detail = best ? fmt::format("best so far {} a step", format_seconds(*best)) : "no plan yet";
    progress.update(static_cast<std::int64_t>(kWhole * done), static_cast<std::int64_t>(kWhole), detail);
  }
};

AttendedPlanning::AttendedPlanning(const PlannerArguments& arguments) : state_(std::make_shared<State>()) {
  state_->most_seconds = arguments.most_seconds;
}

AttendedPlanning::~AttendedPlanning() {
  state_->progress.clear();
  if (!state_->cut_short) return;
  print_notes(
      {fmt::format("the search for a plan was cut short after {:.1f} s: what follows is the best plan until then",
                   *state_->cut_short)});
}

std::shared_ptr<const PlanningWatch> AttendedPlanning::watch() const {
  const std::weak_ptr<State> state = state_;
  return std::make_shared<const PlanningWatch>(
      PlanningWatch{.progress =
                        [state](double done, const std::optional<Seconds>& best) {
                          if (const auto attended = state.lock()) attended->show(done, best);
                        },
                    .stop =
                        [state] {
                          const auto attended = state.lock();
                          return attended && attended->stop();
                        }});
}

}  // namespace sluice

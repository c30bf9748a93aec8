#include "sluice/base/progress/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <string_view>
#include <system_error>

#include "sluice/base/progress/terminal.hpp"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kTerminalPeriod{200};
constexpr std::chrono::seconds kLogPeriod{10};
constexpr std::chrono::seconds kPatience{2};  // with work of which nobody knows how long it takes
constexpr const char* kClearLine = "\r\033[K";

// One that can rewrite a line: a dumb one shows escape sequences as they are.
bool is_terminal() { return !is_dumb(read_terminal_environment()) && ::isatty(STDERR_FILENO) == 1; }

std::size_t terminal_columns() {
  struct winsize size {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void show(const std::string& line, bool terminal) {
  tell(fmt::format("{}{}{}", terminal ? kClearLine : "sluice: ", line, terminal ? "" : "\n"));
}

std::string repeated(std::string_view sign, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += sign;
  return text;
}

// A line that is as long as the terminal is wide would begin a second one, which no carriage return takes back.
std::string cut(std::string line, std::size_t columns) {
  if (line.size() >= columns) line.resize(columns - 1);
  return line;
}

}  // namespace

ProgressLine::ProgressLine(std::string what) : what_(std::move(what)), terminal_(is_terminal()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (terminal_ && shown_) tell(kClearLine);
  shown_ = false;
}

void ProgressLine::update(std::int64_t done, std::int64_t total, std::string_view detail) {
  if (terminal().quiet) return;
  const auto now = Clock::now();
  if (!first_) {
    first_ = done;
    start_ = now;
  }
  const bool due = now - last_ >= (terminal_ ? Clock::duration(kTerminalPeriod) : Clock::duration(kLogPeriod));
  if (!due && (shown_ || !terminal_)) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::optional<double> left = seconds_left(elapsed, *first_, done, total);
  shown_ = true;
  if (terminal_)
    return show(progress_bar({what_, detail, done, total, left}, terminal_columns(), terminal().unicode), true);
  std::string line = fmt::format("{} {}/{}", what_, done, total);
  if (!detail.empty()) line += fmt::format("  {}", detail);
  if (left) line += fmt::format("  {} left", format_clock(*left));
  show(line, false);
}

WaitingLine::WaitingLine(std::string what, ExpectedTime expected)
    : what_(std::move(what)), expected_(expected), terminal_(is_terminal()) {
  if (terminal().quiet) return;
  try {
    shows_ = std::thread([this] {
      try {
        show_until_over();
      } catch (const std::exception&) {
        // No memory for a line: the same.
      }
    });
  } catch (const std::system_error&) {
    // No more threads for this user: the work goes on unseen.
  }
}

WaitingLine::~WaitingLine() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (shows_.joinable()) shows_.join();
}

void WaitingLine::show_until_over() {
  std::unique_lock lock(mutex_);
  Clock::duration wait = terminal_ ? Clock::duration(kPatience) : Clock::duration(kLogPeriod);
  bool shown = false;
  while (!over_.wait_for(lock, wait, [&] { return is_over_; })) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const std::string line = waiting_text(what_, elapsed, expected_);
    show(terminal_ ? cut(line, terminal_columns()) : line, terminal_);
    shown = true;
    if (terminal_) wait = kTerminalPeriod;
  }
  if (terminal_ && shown) tell(kClearLine);
}

std::optional<double> seconds_left(double elapsed, std::int64_t first, std::int64_t done, std::int64_t total) {
  if (done <= first) return std::nullopt;
  return elapsed / static_cast<double>(done - first) * static_cast<double>(total - done);
}

std::string waiting_text(std::string_view what, double elapsed, const ExpectedTime& expected) {
  std::string text = fmt::format("{}  {}", what, format_clock(elapsed));
  if (expected.usual && *expected.usual > elapsed) {
    return text + fmt::format(", about {} left", format_clock(*expected.usual - elapsed));
  }
  if (!expected.at_most || *expected.at_most <= elapsed) return text;
  return text + fmt::format(", at most {} left", format_clock(*expected.at_most - elapsed));
}

std::string format_clock(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string progress_bar(const ProgressState& state, std::size_t columns, bool unicode) {
  constexpr std::size_t kWidth = 20;
  const double share =
      state.total > 0 ? std::clamp(static_cast<double>(state.done) / static_cast<double>(state.total), 0.0, 1.0) : 0;
  std::string rest = fmt::format("  {:3.0f} %  {}/{}", std::floor(100 * share), state.done, state.total);
  if (state.left) rest += fmt::format("  {} left", format_clock(*state.left));
  const std::string detail = state.detail.empty() ? "" : fmt::format("  {}", state.detail);
  const std::size_t width = state.what.size() + kWidth + 4 + rest.size();
  if (width >= columns) {  // no room for a bar: the figures say the same
    return cut(fmt::format("{}{}{}", state.what, rest, detail), columns);
  }
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  return fmt::format("{}  [{}{}]{}{}", state.what, repeated(unicode ? "\u2588" : "#", full),
                     repeated(unicode ? "\u2591" : ".", kWidth - full), rest, cut(detail, columns - width));
}

}  // namespace sluice

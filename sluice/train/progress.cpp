#include "sluice/train/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kTerminalPeriod{200};
constexpr std::chrono::seconds kLogPeriod{10};

}  // namespace

ProgressLine::ProgressLine(std::string what) : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

void ProgressLine::update(std::int64_t done, std::int64_t total, std::string_view detail) {
  const auto now = Clock::now();
  if (!first_) {
    first_ = done;
    start_ = now;
  }
  const bool due = now - last_ >= (terminal_ ? Clock::duration(kTerminalPeriod) : Clock::duration(kLogPeriod));
  if (!due && (shown_ || !terminal_)) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string line = fmt::format("{} {}/{}", what_, done, total);
  if (!detail.empty()) line += fmt::format("  {}", detail);
  if (const auto left = seconds_left(elapsed, *first_, done, total))
    line += fmt::format("  {} left", format_clock(*left));
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
  shown_ = true;
}

std::optional<double> seconds_left(double elapsed, std::int64_t first, std::int64_t done, std::int64_t total) {
  if (done <= first) return std::nullopt;
  return elapsed / static_cast<double>(done - first) * static_cast<double>(total - done);
}

std::string format_clock(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace sluice

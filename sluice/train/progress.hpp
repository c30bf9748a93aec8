// One line of progress on stderr for long work. On a terminal the line is rewritten in place. Elsewhere (logs) a line
// is printed every ten seconds, so work that is over by then prints nothing. It shows what is being done, the count and
// the time left, at the pace since the first update: one line for each kind of work, because their paces differ.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();  // clears the line on a terminal
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(std::int64_t done, std::int64_t total, std::string_view detail = {});

  // Removes the line so that other output can be printed; the next update brings it back.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool terminal_;
  bool shown_ = false;
  std::optional<std::int64_t> first_;  // what was done when the line was asked for first
  Clock::time_point start_;            // when that was
  Clock::time_point last_ = Clock::now();
};

// At the pace of what was done in `elapsed` seconds: from `first` to `done`. Nothing where that is nothing.
std::optional<double> seconds_left(double elapsed, std::int64_t first, std::int64_t done, std::int64_t total);

// "1:23:45", "23:45", "0:07".
std::string format_clock(double seconds);

}  // namespace sluice

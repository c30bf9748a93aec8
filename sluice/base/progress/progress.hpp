// One line of progress on stderr for long work. On a terminal the line is rewritten in place. Elsewhere (logs) a line
// is printed every ten seconds, so work that is over by then prints nothing; with --quiet nobody sees any.
//
//   measuring ops  [#######.............]  36 %  42/115  0:07 left      ProgressLine: what is counted
//   reading model.ckpt  0:03                                           WaitingLine: what is not, after two seconds
//
// The time left is at the pace since the first update: one line for each kind of work, because their paces differ. It is
// left out until something is done. Where nothing can be counted it is "about" or "at most", by what is known beforehand.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

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

// Seconds that work takes, as far as that is known before it begins.
struct ExpectedTime {
  std::optional<double> usual, at_most;
};

// For as long as the object lives. A thread of its own shows the line: it sleeps in between.
class WaitingLine {
 public:
  explicit WaitingLine(std::string what, ExpectedTime expected = {});
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void show_until_over();

  std::string what_;
  ExpectedTime expected_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread shows_;  // last: it uses the others
};

// At the pace of what was done in `elapsed` seconds: from `first` to `done`. Nothing where that is nothing.
std::optional<double> seconds_left(double elapsed, std::int64_t first, std::int64_t done, std::int64_t total);

// "1:23:45", "23:45", "0:07".
std::string format_clock(double seconds);

// "reading model.ckpt  0:03", with what is left after `elapsed` seconds; nothing of that where it took longer.
std::string waiting_text(std::string_view what, double elapsed, const ExpectedTime& expected);

// What a terminal of `columns` shows; `unicode`: with signs that fill better than ASCII's.
struct ProgressState {
  std::string_view what, detail;
  std::int64_t done = 0, total = 0;
  std::optional<double> left;  // seconds
};
std::string progress_bar(const ProgressState& state, std::size_t columns, bool unicode);

}  // namespace sluice

#include "sluice/kernels/wait_policy.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <latch>
#include <mutex>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"

namespace sluice::kernels {
namespace {

constexpr std::chrono::milliseconds kPeriod(25);
constexpr int kCallsPerListing = 40;

// A schedstat file begins with two numbers: nanoseconds run, and in run queues.
std::optional<ThreadTimes::Sums> read_times(int file) {
  std::array<char, 80> text{};
  const ssize_t length = ::pread(file, text.data(), text.size(), 0);
  if (length <= 0) return std::nullopt;
  std::string_view rest(text.data(), as_index(length));
  const auto ran = take_integer(rest);
  if (!ran || rest.empty()) return std::nullopt;
  rest.remove_prefix(1);
  const auto queued = take_integer(rest);
  if (!queued) return std::nullopt;
  return ThreadTimes::Sums{static_cast<Seconds>(*ran) * 1e-9, static_cast<Seconds>(*queued) * 1e-9};
}

}  // namespace

struct SleepingBarriers::Team {
  std::latch standing{1}, over{1};
  std::jthread thread;
};

SleepingBarriers::SleepingBarriers() : team_(std::make_unique<Team>()) {
  team_->thread = std::jthread([&team = *team_] {
    allow_every_cpu();
    // One more than there are processors, so that libgomp has too many whatever the compute threads' number is now.
#pragma omp parallel num_threads(processor_count() + 1)
    {
#pragma omp master
      team.standing.count_down();
      team.over.wait();
    }
  });
  team_->standing.wait();
}

SleepingBarriers::~SleepingBarriers() { team_->over.count_down(); }

ThreadTimes::~ThreadTimes() {
  for (const Thread& thread : threads_) ::close(thread.file);
}

void ThreadTimes::list_threads() {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(tasks_, failed)) {
    const Result<std::int64_t> parsed = parse_integer(entry.path().filename().string());
    if (!parsed.ok()) continue;
    const auto id = static_cast<int>(*parsed);
    if (std::ranges::find(threads_, id, &Thread::id) != threads_.end()) continue;
    const int file = ::open((entry.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    if (const std::optional<Sums> times = read_times(file)) {
      threads_.push_back({id, file, *times});
    } else {
      ::close(file);
    }
  }
}

std::optional<ThreadTimes::Sums> ThreadTimes::since_last() {
  Sums sums;
  std::erase_if(threads_, [&](Thread& thread) {
    const std::optional<Sums> times = read_times(thread.file);
    if (!times) {  // the thread has ended
      ::close(thread.file);
      return true;
    }
    sums.ran += times->ran - thread.since_start.ran;
    sums.queued += times->queued - thread.since_start.queued;
    thread.since_start = *times;
    return false;
  });
  if (calls_++ % kCallsPerListing == 0) list_threads();
  if (threads_.empty()) return std::nullopt;
  return sums;
}

Seconds queued_for_others(const ThreadTimes::Sums& times, Seconds elapsed, int processors) {
  return std::min(times.queued, std::max(0.0, processors * elapsed - times.ran));
}

bool WaitDecider::observe(Seconds elapsed, Seconds queued) {
  if (asleep_) {
    in_a_row_ = queued < kQuietShare * elapsed ? in_a_row_ + 1 : 0;
    if (in_a_row_ < patience_) return true;
    asleep_ = false;
    in_a_row_ = spinning_for_ = 0;
    return false;
  }
  ++spinning_for_;
  in_a_row_ = queued > kBusyShare * elapsed ? in_a_row_ + 1 : 0;
  if (in_a_row_ < kBusyReadings) return false;
  patience_ = spinning_for_ > kTrialReadings ? kQuietReadings : std::min(2 * patience_, kMostQuietReadings);
  asleep_ = true;
  in_a_row_ = 0;
  return true;
}

std::shared_ptr<WaitPolicy> WaitPolicy::of_process() {
  static std::mutex mutex;
  static std::weak_ptr<WaitPolicy> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<WaitPolicy> policy = current.lock();
  if (policy == nullptr) current = policy = std::make_shared<WaitPolicy>();
  return policy;
}

WaitPolicy::WaitPolicy() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    try {
      run(stop);
    } catch (const std::exception&) {
      // No memory or threads for it: barriers wait as they do now.
    }
  });
}

void WaitPolicy::run(const std::stop_token& stop) {
  using Steady = std::chrono::steady_clock;
  allow_every_cpu();
  (void)pthread_setname_np(pthread_self(), "wait policy");
  ThreadTimes times;
  WaitDecider decider;
  std::optional<SleepingBarriers> sleeping;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  Steady::time_point last = Steady::now();
  if (!times.since_last()) return;
  const int processors = processor_count();
  while (!stopped.wait_for(lock, stop, kPeriod, [&] { return stop.stop_requested(); })) {
    const Steady::time_point now = Steady::now();
    const Seconds elapsed = std::chrono::duration<Seconds>(now - std::exchange(last, now)).count();
    const ThreadTimes::Sums sums = times.since_last().value_or(ThreadTimes::Sums{});
    asleep_ = decider.observe(elapsed, queued_for_others(sums, elapsed, processors));
    if (asleep_ == sleeping.has_value()) continue;
    if (asleep_) {
      sleeping.emplace();
    } else {
      sleeping.reset();
    }
  }
}

}  // namespace sluice::kernels

// Carries an exception out of where none may leave: a thread, an OpenMP region, a signal-like callback. Without it the
// process ends (std::terminate), and what it said is lost.
//
//   FirstException failed;
//   #pragma omp parallel for
//   for (...) failed.run([&] { body(i); });
//   failed.rethrow();
//
// run() may be called by several threads at once; the first exception is kept, the others are dropped. After one, run()
// calls nothing more. Costs a relaxed load for each call.
#pragma once

#include <atomic>
#include <exception>

namespace sluice {

class FirstException {
 public:
  template <typename Call>
  void run(Call&& call) noexcept {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      call();
    } catch (...) {
      if (!failed_.exchange(true)) first_ = std::current_exception();
    }
  }

  // When all threads that called run() are done with it.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> failed_ = false;
  std::exception_ptr first_;
};

}  // namespace sluice

// Work on many things by several threads, for searches whose answer does not depend on how many these are.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "sluice/base/first_exception.hpp"

namespace sluice::planners {

// Calls make_work() on each thread, and what it gives with each of [0, count): each thread takes the next one. The
// calling thread works, too, and asks `stop` (which may be empty) before each of its own; after that nobody takes
// another one. Whether it was stopped. What one of them throws is thrown here.
template <typename MakeWork>
bool for_each_on_threads(std::size_t count, int threads, const std::function<bool()>& stop, const MakeWork& make_work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const auto take = [&](const auto& before_each) {
    auto work = make_work();
    for (std::size_t i = next++; i < count; i = next++) {
      before_each();
      if (stopped) return;
      work(i);
    }
  };
  FirstException failed;
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&] { failed.run([&] { take([] {}); }); });
  }
  failed.run([&] {
    take([&] {
      if (stop && stop()) stopped = true;
    });
  });
  others.clear();
  failed.rethrow();
  return stopped;
}

}  // namespace sluice::planners

// An emulated stream: a thread that does what is put on it, in order, each piece of work a little late at random. Events
// are marks in that order.
//
// Threads: any may put work and wait; one at a time records (captures) a stream.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sluice/exec/backends/cuda/emulated/cuda_runtime.h"

namespace sluice::cuda {

using StreamWork = std::function<void()>;

// A place in a stream's order. It is reached once.
class StreamMark {
 public:
  void reach();
  void wait() const;
  bool reached() const { return reached_; }
  std::chrono::steady_clock::time_point when() const { return when_; }  // once it is reached

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<bool> reached_ = false;
  std::chrono::steady_clock::time_point when_;
};

}  // namespace sluice::cuda

// What a capture has recorded: calls, made again at each launch on the stream that is given.
struct CUgraph_st {
  std::vector<std::function<void(cudaStream_t)>> calls;
};

struct CUevent_st {
  bool timed = true;
  std::shared_ptr<sluice::cuda::StreamMark> last;  // of its latest recording; none before the first
};

struct CUstream_st {
 public:
  CUstream_st();
  ~CUstream_st();  // when all that was put has been done
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  // While it is captured, into the graph.
  void put(sluice::cuda::StreamWork work);
  void record(CUevent_st& event);
  void synchronize();

  std::unique_ptr<CUgraph_st> captured;  // while it is captured

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<sluice::cuda::StreamWork> work_;
  bool ends_ = false;
  std::thread thread_;
};

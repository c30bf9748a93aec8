// Emulated streams: threads that do what is put on them, in order. Events are marks in that order.
//
// What is missing in the waits between streams must show. So one piece of work in eight begins late at random, and in
// half of the times between two waits of the host no stream begins at all before the second wait: then nothing orders
// what two streams do but the events between them, which the thread sanitizer sees. Seeded by counting: a run's streams
// draw the same numbers each time.
//
// Threads: any may put work and wait; one at a time records (captures) a stream.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sluice/gpu/emulated/cuda_runtime.h"

namespace sluice::gpu {

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

// Streams that were held back begin.
void release_all_streams();
// The host waits for `mark`, which releases them.
void wait_on_host(const StreamMark& mark);

// The stream that calls without one use. It does not wait for others, nor they for it.
cudaStream_t default_stream();

// Every stream that is there.
std::vector<cudaStream_t> all_streams();

// The stream that this thread records, if any: CUDA refuses most other calls meanwhile.
cudaStream_t& recorded_here();

}  // namespace sluice::gpu

// NOLINTBEGIN(readability-identifier-naming): CUDA's names.

// What a capture has recorded: calls, made again at each launch on the stream that is given.
struct CUgraph_st {
  std::vector<std::function<void(cudaStream_t)>> calls;
};

struct CUevent_st {
  bool timed = true;
  bool captured = false;                          // recorded last as a part of a graph: nobody else may wait for it
  std::shared_ptr<sluice::gpu::StreamMark> last;  // of its latest recording; none before the first
};

struct CUstream_st {
 public:
  CUstream_st();
  ~CUstream_st();  // when all that was put has been done
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  // While it is captured, into the graph.
  void put(sluice::gpu::StreamWork work);
  void record(CUevent_st& event);
  void synchronize();
  void release();  // what has been held back

  std::unique_ptr<CUgraph_st> captured;  // while it is captured

 private:
  void serve();
  void be_late();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<sluice::gpu::StreamWork> work_;
  std::mutex held_mutex_;
  std::vector<sluice::gpu::StreamWork> held_;  // of hosts, until one of them waits
  bool ends_ = false;
  std::uint64_t drawn_ = 0;
  std::thread thread_;
};

// NOLINTEND(readability-identifier-naming)

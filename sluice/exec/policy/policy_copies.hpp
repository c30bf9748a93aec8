// Copies as many bytes as a policy says, for real: pages in and out of fast memory.
//
// The data of a step stay where they are (they are in fast memory already, see policy_executor.hpp). The bytes copied
// are page frames of two arenas beside the data, copied with streaming stores (streaming_copy.hpp). So the copies take
// the memory bandwidth, the caches and the cores that real ones would. Each arena is a window of 128 MiB, larger than a
// cache, half of it for either direction; it takes no memory until the first copy.
//
// On an emulated link where a processor copies, the threads of this object are held for as long as that link would take
// (memory_line.hpp). copy_now() does not hold its caller: the caller waits for what is left of that time.
//
// Threads: copy_now() uses the compute threads, which have nothing else to do; submit() leaves the work to threads of
// this object. One caller at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sluice/memory/arena.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/memory_line.hpp"

namespace sluice::exec {

class PageCopies {
 public:
  // kOutOfSpace when the arenas cannot be mapped.
  static Result<std::unique_ptr<PageCopies>> create(int compute_threads, int background_threads,
                                                    const memory::Link& inward, const memory::Link& outward);
  ~PageCopies();
  PageCopies(const PageCopies&) = delete;
  PageCopies& operator=(const PageCopies&) = delete;

  void copy_now(Bytes in, Bytes out);
  void submit(Bytes in, Bytes out);
  void drain();  // returns when all that was submitted is copied

  // Since the object was made; the threads' own only after drain().
  Bytes copied_in() const { return copied_in_; }
  Bytes copied_out() const { return copied_out_; }

 private:
  PageCopies(memory::Arena fast, memory::Arena slow, int compute_threads, const memory::Link& inward,
             const memory::Link& outward);
  void start(int background_threads);
  void work();
  void copy_in(Bytes bytes);
  void copy_out(Bytes bytes);

  memory::Arena fast_;
  memory::Arena slow_;
  int compute_threads_;
  memory::MemoryLine line_in_;
  memory::MemoryLine line_out_;
  std::atomic<Bytes> place_in_{0};  // of the next piece, in the window
  std::atomic<Bytes> place_out_{0};
  std::atomic<Bytes> copied_in_{0};
  std::atomic<Bytes> copied_out_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  Bytes waiting_in_ = 0;  // submitted and not taken by a thread; guarded, as all below
  Bytes waiting_out_ = 0;
  int busy_ = 0;  // threads that copy
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::exec

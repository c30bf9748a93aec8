#include "sluice/gpu/emulated/stream.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "sluice/base/random.hpp"

namespace sluice::gpu {
namespace {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;

std::atomic<bool> held_back = false;  // what hosts put now

struct KnownStreams {
  std::mutex mutex;
  std::set<cudaStream_t> streams;
};

KnownStreams& known() {
  static auto* const all = new KnownStreams;  // streams may end after static objects
  return *all;
}

}  // namespace

void StreamMark::reach() {
  const std::lock_guard lock(mutex_);
  when_ = std::chrono::steady_clock::now();
  reached_ = true;
  changed_.notify_all();
}

void StreamMark::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_.load(); });
}

void release_all_streams() {
  held_back = false;
  for (const cudaStream_t stream : all_streams()) stream->release();
}

void wait_on_host(const StreamMark& mark) {
  static std::atomic<std::uint64_t> waits = 0;
  release_all_streams();
  mark.wait();
  held_back = mix64(++waits * kStep) % 2 == 0;
}

cudaStream_t default_stream() {
  static auto* const stream = new CUstream_st;
  return stream;
}

std::vector<cudaStream_t> all_streams() {
  const std::lock_guard lock(known().mutex);
  return {known().streams.begin(), known().streams.end()};
}

cudaStream_t& recorded_here() {
  thread_local cudaStream_t stream = nullptr;
  return stream;
}

}  // namespace sluice::gpu

using sluice::gpu::known;
using sluice::gpu::StreamMark;
using sluice::gpu::StreamWork;

CUstream_st::CUstream_st() : thread_([this] { serve(); }) {
  const std::lock_guard lock(known().mutex);
  known().streams.insert(this);
}

CUstream_st::~CUstream_st() {
  sluice::gpu::release_all_streams();
  {
    const std::lock_guard lock(known().mutex);
    known().streams.erase(this);
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void CUstream_st::be_late() {
  const std::uint64_t bits = sluice::mix64(++drawn_ * sluice::gpu::kStep);
  if (bits % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(bits >> 57));  // up to 127
}

void CUstream_st::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
    if (work_.empty()) return;
    const StreamWork next = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    be_late();
    next();
    lock.lock();
  }
}

void CUstream_st::put(StreamWork work) {
  if (captured != nullptr) {
    captured->calls.emplace_back([work = std::move(work)](cudaStream_t stream) { stream->put(work); });
    return;
  }
  {
    const std::lock_guard lock(held_mutex_);
    held_.push_back(std::move(work));
  }
  if (!sluice::gpu::held_back) release();
}

void CUstream_st::release() {
  const std::lock_guard lock(held_mutex_);
  const std::lock_guard lock_work(mutex_);
  std::ranges::move(held_, std::back_inserter(work_));
  held_.clear();
  changed_.notify_all();
}

void CUstream_st::record(CUevent_st& event) {
  event.captured = false;
  event.last = std::make_shared<StreamMark>();
  put([mark = event.last] { mark->reach(); });
}

void CUstream_st::synchronize() {
  const auto mark = std::make_shared<StreamMark>();
  put([mark] { mark->reach(); });
  sluice::gpu::wait_on_host(*mark);
}

#include "sluice/exec/backends/cuda/emulated/stream.hpp"

#include "sluice/base/random.hpp"

namespace sluice::cuda {

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

namespace {

// One piece of work in eight begins up to 128 us late: the others find it not done yet, if nobody makes them wait.
void be_late() {
  static std::atomic<std::uint64_t> drawn = 0;
  const std::uint64_t bits = mix64(++drawn * 0x9e3779b97f4a7c15ULL);
  if (bits % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(bits >> 57));
}

}  // namespace
}  // namespace sluice::cuda

using sluice::cuda::StreamMark;

CUstream_st::CUstream_st() : thread_([this] { serve(); }) {}

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void CUstream_st::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
    if (work_.empty()) return;
    const sluice::cuda::StreamWork next = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    sluice::cuda::be_late();
    next();
    lock.lock();
  }
}

void CUstream_st::put(sluice::cuda::StreamWork work) {
  if (captured != nullptr) {
    captured->calls.emplace_back([work = std::move(work)](cudaStream_t stream) { stream->put(work); });
    return;
  }
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

void CUstream_st::record(CUevent_st& event) {
  event.last = std::make_shared<StreamMark>();
  put([mark = event.last] { mark->reach(); });
}

void CUstream_st::synchronize() {
  const auto mark = std::make_shared<StreamMark>();
  put([mark] { mark->reach(); });
  mark->wait();
}

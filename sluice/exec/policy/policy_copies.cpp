#include "sluice/exec/policy/policy_copies.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/memory/transfer/streaming_copy.hpp"

namespace sluice::exec {
namespace {

constexpr Bytes kWindow = 64 * kMiB;       // of one direction
constexpr Bytes kCopyPiece = 256 * kKiB;   // what a thread takes at a time: about 10 us
constexpr Bytes kStreamingMultiple = 256;  // of streaming_copy()

// Copies the next piece of the window; no two threads are ever within a window of each other.
void copy_piece(std::atomic<Bytes>& place, std::byte* to, const std::byte* from, Bytes bytes) {
  const Bytes at = place.fetch_add(kCopyPiece) % kWindow;
  memory::streaming_copy(to + at, from + at, as_index(align_up(bytes, kStreamingMultiple)));
}

}  // namespace

Result<std::unique_ptr<PageCopies>> PageCopies::create(int compute_threads, int background_threads,
                                                       const memory::Link& inward, const memory::Link& outward) {
  SLUICE_ASSIGN(memory::Arena fast, memory::Arena::map(2 * kWindow, "page frames of fast memory"));
  SLUICE_ASSIGN(memory::Arena slow, memory::Arena::map(2 * kWindow, "page frames of slow memory"));
  std::unique_ptr<PageCopies> copies(
      new PageCopies(std::move(fast), std::move(slow), compute_threads, inward, outward));
  copies->start(background_threads);
  return copies;
}

PageCopies::PageCopies(memory::Arena fast, memory::Arena slow, int compute_threads, const memory::Link& inward,
                       const memory::Link& outward)
    : fast_(std::move(fast)),
      slow_(std::move(slow)),
      compute_threads_(compute_threads),
      line_in_(memory::held_bandwidth(inward)),
      line_out_(memory::held_bandwidth(outward)) {}

void PageCopies::start(int background_threads) {
  for (int i = 0; i < background_threads; ++i) threads_.emplace_back([this] { work(); });
}

PageCopies::~PageCopies() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PageCopies::copy_in(Bytes bytes) {
  copy_piece(place_in_, fast_.data(), slow_.data(), bytes);
  copied_in_ += bytes;
}

void PageCopies::copy_out(Bytes bytes) {
  copy_piece(place_out_, slow_.data() + kWindow, fast_.data() + kWindow, bytes);
  copied_out_ += bytes;
}

void PageCopies::copy_now(Bytes in, Bytes out) {
  const Bytes pieces_in = (in + kCopyPiece - 1) / kCopyPiece;
  const Bytes pieces_out = (out + kCopyPiece - 1) / kCopyPiece;
#pragma omp parallel for num_threads(compute_threads_) schedule(dynamic)
  for (Bytes piece = 0; piece < pieces_in + pieces_out; ++piece) {
    if (piece < pieces_in) {
      copy_in(std::min(kCopyPiece, in - piece * kCopyPiece));
    } else {
      copy_out(std::min(kCopyPiece, out - (piece - pieces_in) * kCopyPiece));
    }
  }
}

void PageCopies::submit(Bytes in, Bytes out) {
  if (in + out == 0) return;
  {
    const std::lock_guard lock(mutex_);
    waiting_in_ += in;
    waiting_out_ += out;
  }
  changed_.notify_all();
}

void PageCopies::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_in_ + waiting_out_ == 0 && busy_ == 0; });
}

// Out and in by turns, as far as there is either.
void PageCopies::work() {
  allow_every_cpu();
  std::unique_lock lock(mutex_);
  for (bool outward = true;; outward = !outward) {
    changed_.wait(lock, [this] { return over_ || waiting_in_ + waiting_out_ > 0; });
    if (over_) return;
    const bool out = waiting_in_ == 0 || (outward && waiting_out_ > 0);
    Bytes& waiting = out ? waiting_out_ : waiting_in_;
    const Bytes bytes = std::min(waiting, kCopyPiece);
    waiting -= bytes;
    ++busy_;
    lock.unlock();
    const Clock::time_point end = (out ? line_out_ : line_in_).end_of(bytes);
    out ? copy_out(bytes) : copy_in(bytes);
    memory::MemoryLine::hold_until(end);
    lock.lock();
    --busy_;
    if (waiting_in_ + waiting_out_ == 0 && busy_ == 0) changed_.notify_all();
  }
}

}  // namespace sluice::exec

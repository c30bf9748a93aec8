#include "sluice/memory/transfer/uring_engine.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/memory/requests.hpp"
#include "sluice/memory/transfer/transfer_error.hpp"

namespace sluice::memory {
namespace {

constexpr std::uint64_t kWakeTag = ~std::uint64_t{0};  // user data of the eventfd read; requests use their slot
constexpr Bytes kSliceBytes = kGiB;                    // the kernel's limit for one registered buffer

__kernel_timespec to_timespec(Seconds seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return {whole, static_cast<std::int64_t>((seconds - static_cast<double>(whole)) * 1e9)};
}

}  // namespace

Result<std::unique_ptr<UringEngine>> UringEngine::create(Config config) {
  SLUICE_CHECK(are_requests(config.request_bytes, config.queue_depth), "queue depth and request size");
  std::unique_ptr<UringEngine> engine(new UringEngine(std::move(config)));
  SLUICE_RETURN_IF_ERROR(engine->set_up_ring());
  if (engine->config_.registers) engine->register_arena();
  return engine;
}

UringEngine::UringEngine(Config config) : config_(std::move(config)), requests_(as_index(config_.queue_depth)) {
  for (std::size_t slot = requests_.size(); slot > 0; --slot) free_slots_.push_back(slot - 1);
}

UringEngine::~UringEngine() {
  if (ring_made_) io_uring_queue_exit(&ring_);
  if (wake_descriptor_ >= 0) ::close(wake_descriptor_);
}

Status UringEngine::set_up_ring() {
  // One thread at a time uses the ring, but not the one that makes it: it starts disabled and belongs to its enabler.
  const unsigned best = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED;
  const auto entries = static_cast<unsigned>(config_.queue_depth + 1);
  int made = io_uring_queue_init(entries, &ring_, best);
  if (made == -EINVAL) {
    made = io_uring_queue_init(entries, &ring_, 0);
    enabled_ = true;
    notes_.emplace_back("io_uring without deferred completions: this kernel is older than 6.1");
  }
  if (made < 0) {
    return Error{ErrorCode::kUnsupported, fmt::format("io_uring is not available: {}", std::strerror(-made))};
  }
  ring_made_ = true;
  wake_descriptor_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_descriptor_ < 0) {
    return Error{ErrorCode::kUnsupported, fmt::format("cannot make an eventfd: {}", std::strerror(errno))};
  }
  if (enabled_) arm_wake();
  return {};
}

void UringEngine::register_arena() {
  std::vector<iovec> slices;
  for (Bytes offset = 0; offset < config_.arena_bytes; offset += kSliceBytes) {
    const Bytes bytes = std::min(kSliceBytes, config_.arena_bytes - offset);
    slices.push_back({config_.arena + offset, as_index(bytes)});
  }
  const int result = io_uring_register_buffers(&ring_, slices.data(), static_cast<unsigned>(slices.size()));
  registered_ = result == 0;
  if (registered_) return;
  notes_.push_back(fmt::format("transfers of tier '{}' use unregistered buffers, at some CPU time: {}{}", config_.tier,
                               std::strerror(-result),
                               result == -ENOMEM || result == -EPERM ? " (the limit is ulimit -l)" : ""));
}

void UringEngine::enable() {
  if (enabled_) return;
  // By hand: liburing 2.3 declares io_uring_enable_rings() but does not export it.
  const long result = ::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  SLUICE_CHECK(result == 0, std::strerror(errno));
  enabled_ = true;
  arm_wake();
}

void UringEngine::arm_wake() {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
  SLUICE_CHECK(sqe != nullptr, "the ring has an entry for the wake-up");
  io_uring_prep_read(sqe, wake_descriptor_, &wake_count_, sizeof wake_count_, 0);
  io_uring_sqe_set_data64(sqe, kWakeTag);
}

void UringEngine::submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) {
  SLUICE_CHECK(bytes > 0 && bytes % kBlockAlignment == 0, fmt::format("a transfer of {} bytes", bytes));
  enable();
  const bool to_file = config_.direction == Direction::kToFile;
  const Bytes arena_offset = to_file ? from_offset : to_offset;
  SLUICE_CHECK(arena_offset >= 0 && arena_offset + bytes <= config_.arena_bytes, "a transfer inside the arena");
  transfers_.push_back({transfer, arena_offset, to_file ? to_offset : from_offset, bytes, 0, {}});
  if (issuing_ == transfers_.end()) issuing_ = std::prev(transfers_.end());
  issue();
  io_uring_submit(&ring_);  // what the kernel does not take now, wait() hands it again
}

// Cuts requests off the waiting transfers while there are free slots. None crosses a registered slice.
void UringEngine::issue() {
  while (issuing_ != transfers_.end() && !free_slots_.empty()) {
    Transfer& transfer = *issuing_;
    if (transfer.bytes == 0) {
      ++issuing_;
      continue;
    }
    const Bytes to_slice_end = kSliceBytes - transfer.arena_offset % kSliceBytes;
    const Bytes bytes = std::min({config_.request_bytes, transfer.bytes, to_slice_end});
    const std::size_t slot = free_slots_.back();
    free_slots_.pop_back();
    requests_[slot] = {issuing_, transfer.arena_offset, transfer.file_offset, bytes};
    ++transfer.outstanding;
    transfer.arena_offset += bytes;
    transfer.file_offset += bytes;
    transfer.bytes -= bytes;
    queue_request(slot);
  }
}

void UringEngine::queue_request(std::size_t slot) {
  const Request& request = requests_[slot];
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
  SLUICE_CHECK(sqe != nullptr, "the ring has an entry for each request slot");
  std::byte* const buffer = config_.memory_at(request.arena_offset);
  const auto bytes = static_cast<unsigned>(request.bytes);
  const auto offset = static_cast<std::uint64_t>(request.file_offset);
  const int slice = static_cast<int>(request.arena_offset / kSliceBytes);
  if (config_.direction == Direction::kToFile) {
    if (registered_) {
      io_uring_prep_write_fixed(sqe, config_.descriptor, buffer, bytes, offset, slice);
    } else {
      io_uring_prep_write(sqe, config_.descriptor, buffer, bytes, offset);
    }
  } else if (registered_) {
    io_uring_prep_read_fixed(sqe, config_.descriptor, buffer, bytes, offset, slice);
  } else {
    io_uring_prep_read(sqe, config_.descriptor, buffer, bytes, offset);
  }
  io_uring_sqe_set_data64(sqe, slot);
}

void UringEngine::wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) {
  enable();
  const Deadline until = deadline_after(deadline);
  const std::size_t before = finished.size();
  for (;;) {
    enter(woken_.try_sleep(), until);
    const bool woken = woken_.rise();
    reap(finished);
    issue();
    if (woken || finished.size() > before || (until && Clock::now() >= *until)) break;
  }
  io_uring_submit(&ring_);  // requests that took the place of finished ones
}

// Hands queued requests to the kernel and, if allowed, sleeps until something completes.
void UringEngine::enter(bool may_block, const Deadline& until) {
  int result = 0;
  if (!may_block || io_uring_cq_ready(&ring_) > 0) {
    result = io_uring_submit_and_get_events(&ring_);
  } else if (until) {
    __kernel_timespec left = to_timespec(*seconds_until(until));
    io_uring_cqe* first = nullptr;
    result = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &left, nullptr);
  } else {
    result = io_uring_submit_and_wait(&ring_, 1);
  }
  const bool come_again = result == -ETIME || result == -EINTR || result == -EAGAIN || result == -EBUSY;
  if (result < 0 && !come_again) throw std::system_error(-result, std::generic_category(), "io_uring_enter");
}

void UringEngine::reap(std::vector<FinishedTransfer>& finished) {
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
    const std::uint64_t tag = io_uring_cqe_get_data64(cqe);
    const std::int32_t result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    if (tag == kWakeTag) {
      arm_wake();
    } else {
      complete(tag, result, finished);
    }
  }
}

void UringEngine::complete(std::size_t slot, std::int32_t result, std::vector<FinishedTransfer>& finished) {
  Request& request = requests_[slot];
  if (config_.alter_result) result = config_.alter_result(completed_requests_, result);
  ++completed_requests_;
  if (result == -EINTR || result == -EAGAIN) {
    queue_request(slot);
    return;
  }
  // A direct transfer goes on from a block boundary; less than a block means that the file ended.
  const Bytes moved = align_down(std::max(result, 0), config_.block);
  if (moved > 0 && moved < request.bytes) {
    request.arena_offset += moved;
    request.file_offset += moved;
    request.bytes -= moved;
    queue_request(slot);
    return;
  }
  if (moved < request.bytes) fail(request, result < 0 ? -result : 0);
  free_slots_.push_back(slot);
  const auto transfer = request.transfer;
  if (--transfer->outstanding > 0 || transfer->bytes > 0) return;
  finished.push_back({transfer->id, std::move(transfer->status)});
  if (issuing_ == transfer) ++issuing_;
  transfers_.erase(transfer);
}

void UringEngine::fail(const Request& request, int system_error) {
  Transfer& transfer = *request.transfer;
  transfer.bytes = 0;  // the rest is not worth moving
  if (!transfer.status.ok()) return;
  const char* const verb = config_.direction == Direction::kToFile ? "write" : "read";
  transfer.status = transfer_error(verb, config_.tier, request.file_offset, request.bytes, system_error);
}

void UringEngine::wake() {
  if (!woken_.set()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_descriptor_, &one, sizeof one);  // 8 bytes never fail
}

UringEngine::Config uring_config(const Machine& machine, const Link& link, const TierStorages& storages) {
  const bool from_file = storages.file(link.from) != nullptr;
  const TierId file_tier = from_file ? link.from : link.to;
  const TierId memory_tier = from_file ? link.to : link.from;
  UringEngine::Config config;
  config.direction = from_file ? UringEngine::Direction::kFromFile : UringEngine::Direction::kToFile;
  config.arena = storages.base(memory_tier);
  config.arena_bytes = storages.bytes(memory_tier);
  config.descriptor = storages.file(file_tier)->descriptor();
  config.block = storages.file(file_tier)->block();
  config.tier = machine.tier(file_tier).name;
  config.request_bytes = link.request_bytes;
  config.queue_depth = link.queue_depth;
  return config;
}

}  // namespace sluice::memory

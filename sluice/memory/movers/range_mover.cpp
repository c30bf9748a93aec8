#include "sluice/memory/movers/range_mover.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "sluice/base/as_index.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"

namespace sluice::memory {
namespace {

bool is_outward(const RangeMove& move) { return move.to > move.from && move.from != kUntouched; }

// Refused for pages that are locked in memory: they would go on taking it.
Status give_back(std::span<std::byte> pages) {
  if (::madvise(pages.data(), pages.size(), MADV_DONTNEED) == 0) return {};
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("the system does not take back {} of memory that lie in a file now: {}; pages locked in memory "
                  "(mlockall) cannot leave it",
                  format_bytes(static_cast<Bytes>(pages.size())), std::strerror(errno))};
}

}  // namespace

Status check_movable(const Machine& machine) {
  if (!machine.tier(kFastTier).kind->host_reaches) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("pages of tier '{}' are not the host's to move", machine.tier(kFastTier).name)};
  }
  for (std::size_t slow = 1; slow < machine.tiers.size(); ++slow) {
    const Tier& tier = machine.tiers[slow];
    if (tier.kind->in_file || tier.kind->place != nullptr) continue;
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("pages cannot be moved to tier '{}' one by one: that takes a file or a memory node", tier.name)};
  }
  return {};
}

// What touches the same bytes twice is performed one behind the other.
Status RangeMover::Performer::perform(const MoveList& moves) {
  std::map<Bytes, RangeMove> together;  // by where they begin: none overlaps another
  for (const RangeMove& move : moves.moves()) {
    const auto behind = together.lower_bound(move.bytes.begin);
    const bool again = (behind != together.end() && behind->second.bytes.overlaps(move.bytes)) ||
                       (behind != together.begin() && std::prev(behind)->second.bytes.overlaps(move.bytes));
    if (again) SLUICE_RETURN_IF_ERROR(perform_together(std::exchange(together, {})));
    together.emplace(move.bytes.begin, move);
  }
  return perform_together(together);
}

// In order of addresses, neighbours joined: fewer and longer requests.
Status RangeMover::Performer::perform_together(const std::map<Bytes, RangeMove>& moves) {
  MoveList outward, others;
  for (const auto& [begin, move] : moves) (is_outward(move) ? outward : others).add(move);
  SLUICE_RETURN_IF_ERROR(perform_all(outward.moves()));
  return perform_all(others.moves());
}

Status RangeMover::Performer::perform_all(std::span<const RangeMove> moves) {
  SLUICE_RETURN_IF_ERROR(transfer_all(moves));
  for (const RangeMove& move : moves) {
    const Tier& to = machine_.tier(move.to);
    const std::span<std::byte> pages{storages_.base(kFastTier) + move.bytes.begin, as_index(move.bytes.length())};
    if (to.kind->place != nullptr) SLUICE_RETURN_IF_ERROR(to.kind->place(to, pages));
    if (to.kind->in_file) SLUICE_RETURN_IF_ERROR(give_back(pages));
  }
  return {};
}

// What goes to a file or comes from one, all at once.
Status RangeMover::Performer::transfer_all(std::span<const RangeMove> moves) {
  std::vector<std::pair<TransferQueue*, Ticket>> under_way;
  for (const RangeMove& move : moves) {
    if (move.from == kUntouched) continue;
    if (!machine_.tier(move.from).kind->in_file && !machine_.tier(move.to).kind->in_file) continue;
    SLUICE_ASSIGN(TransferQueue* const queue, queue_between(move.from, move.to));
    under_way.emplace_back(queue, queue->put({move.bytes.begin, move.bytes.begin, move.bytes.length()}));
  }
  Status first_error;
  for (const auto& [queue, ticket] : under_way) {
    const Status done = queue->wait(ticket);
    if (first_error.ok()) first_error = done;
  }
  return first_error;
}

Result<TransferQueue*> RangeMover::Performer::queue_between(TierId from, TierId to) {
  const auto link = machine_.link_between(from, to);
  SLUICE_CHECK(link.has_value(), "a link for every move");
  std::unique_ptr<TransferQueue>& queue = queues_[*link];
  if (queue == nullptr) {
    SLUICE_ASSIGN(auto engine, make_engine_of_pages(machine_, *link, storages_));
    queue = std::make_unique<TransferQueue>(std::move(engine), TransferQueue::Config{});
  }
  return queue.get();
}

RangeMover::RangeMover(const Machine& machine, const TierStorages& storages, Bytes page_bytes)
    : machine_(machine), storages_(storages), of_caller_(machine_, storages), of_thread_(machine_, storages) {
  if (page_bytes % kHugePage == 0) return;
  // Where the kernel has no huge pages it knows no such wish either, and there is nothing to avoid.
  (void)::madvise(storages.base(kFastTier), as_index(storages.bytes(kFastTier)), MADV_NOHUGEPAGE);
}

RangeMover::~RangeMover() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status RangeMover::perform(const MoveList& moves) {
  {
    const std::scoped_lock lock(mutex_);
    SLUICE_RETURN_IF_ERROR(status_);
  }
  Status performed = of_caller_.perform(moves);
  if (performed.ok()) return performed;
  const std::scoped_lock lock(mutex_);
  return status_ = std::move(performed);
}

void RangeMover::begin(const MoveList& moves) {
  if (moves.empty()) return;
  {
    const std::scoped_lock lock(mutex_);
    begun_.push_back(moves);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

Status RangeMover::wait_for(std::span<const Interval<Bytes>> ranges) {
  const auto touches = [&](const MoveList& list) {
    return std::ranges::any_of(list.moves(), [&](const RangeMove& move) {
      return std::ranges::any_of(ranges, [&](const Interval<Bytes>& range) { return range.overlaps(move.bytes); });
    });
  };
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !status_.ok() || std::ranges::none_of(begun_, touches); });
  return status_;
}

Status RangeMover::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !status_.ok() || begun_.empty(); });
  return status_;
}

// What has been begun is performed, unless something failed; then nothing more is.
void RangeMover::work() {
  allow_every_cpu();
  (void)pthread_setname_np(pthread_self(), "range mover");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || (!begun_.empty() && status_.ok()); });
    if (over_) return;
    const MoveList moves = begun_.front();
    lock.unlock();
    Status performed;
    try {
      performed = of_thread_.perform(moves);
    } catch (const std::exception& failure) {
      performed = Error{ErrorCode::kIo, failure.what()};
    }
    lock.lock();
    begun_.pop_front();
    if (!performed.ok() && status_.ok()) status_ = std::move(performed);
    changed_.notify_all();
  }
}

Bytes RangeMover::resident_bytes() const {
  const Bytes bytes = storages_.bytes(kFastTier);
  std::vector<unsigned char> resident(as_index(bytes / kBlockAlignment));
  ::mincore(storages_.base(kFastTier), as_index(bytes), resident.data());
  return std::ranges::count_if(resident, [](unsigned char page) { return (page & 1U) != 0; }) * kBlockAlignment;
}

}  // namespace sluice::memory

#include "sluice/exec/probe/probe_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
#include <thread>

#include "sluice/base/time_of.hpp"
#include "sluice/exec/probe/probe_stream.hpp"
#include "sluice/exec/transfer/deadline.hpp"

namespace sluice {
namespace {

constexpr Bytes kFileBytes = kGiB;          // beyond what a disk's own cache absorbs at once
constexpr Bytes kMemoryBytes = 128 * kMiB;  // beyond the caches
constexpr Bytes kTrialBytes = 128 * kMiB;
constexpr Seconds kSearchSeconds = 0.7;  // a slow disk gets fewer combinations tried, not a longer wait
constexpr Seconds kTogetherSeconds = 3;  // at most
constexpr double kAsGood = 0.93;         // of the best bandwidth

// Keeps every compute thread busy, as training does: completions then wait for processor time, and on a machine whose
// cores all compute a disk is slower than on an idle one.
class ComputeLoad {
 public:
  explicit ComputeLoad(int threads) {
    for (int i = 0; i < threads; ++i) spinners_.emplace_back([](const std::stop_token& stop) { spin(stop); });
  }

 private:
  static void spin(const std::stop_token& stop) {
    volatile float sink = 0;
    while (!stop.stop_requested()) {
      float x = sink;
      for (int i = 0; i < 4096; ++i) x = x * 0.999F + 1.0F;
      sink = x;
    }
  }

  std::vector<std::jthread> spinners_;
};

// The storage that the links are measured on: a file that was written once, and an arena.
class ProbeStorage {
 public:
  static Result<ProbeStorage> open(const Machine& machine, const Link& link) {
    ProbeStorage storage;
    std::vector<Bytes> sizes(machine.tiers.size(), 0);
    for (const TierId id : {link.from, link.to}) {
      const Tier& tier = machine.tier(id);
      const bool file = tier.kind == TierKind::kFile;
      Bytes& size = sizes[static_cast<std::size_t>(id)];
      size = file ? kFileBytes : kMemoryBytes;
      if (tier.capacity > 0) size = align_down(std::min(size, tier.capacity), kTensorAlignment);
      (file ? storage.room_ : storage.memory_) = size;
      if (file) storage.file_tier_ = id;
    }
    SLUICE_ASSIGN(storage.storages_, TierStorages::open(machine, sizes));
    SLUICE_RETURN_IF_ERROR(storage.write_file_once());
    return storage;
  }

  Bytes room() const { return room_; }

  // A stream through part `part` of `parts` equal ones.
  ProbeStream stream(const Machine& machine, LinkId link, int part, int parts) const {
    const auto cut = [&](Bytes bytes) {
      const Bytes length = align_down(bytes / parts, kTensorAlignment);
      return Interval<Bytes>{part * length, (part + 1) * length};
    };
    return {machine, link, storages_, cut(room_), cut(memory_)};
  }

 private:
  // Blocks that were only preallocated read as zeros without the disk, and cost more to write the first time.
  Status write_file_once() const {
    const std::vector<std::byte> content(static_cast<std::size_t>(4 * kMiB), std::byte{0x5a});
    for (Bytes at = 0; at < room_; at += 4 * kMiB) {
      const auto bytes = static_cast<std::size_t>(std::min(4 * kMiB, room_ - at));
      SLUICE_RETURN_IF_ERROR(storages_.write(file_tier_, at, std::span(content).first(bytes)));
    }
    return {};
  }

  TierStorages storages_;
  TierId file_tier_ = 0;
  Bytes room_ = 0;    // of the file
  Bytes memory_ = 0;  // of the arena
};

struct Choice {
  Bytes request_bytes = 0;
  int queue_depth = 0;
  BytesPerSecond bandwidth = 0;
};

// Tries large requests and short queues first, and keeps the first that is as good as the best: they cost least CPU.
Result<Choice> choose_requests(ProbeStream& stream, Bytes room) {
  constexpr std::array<Bytes, 3> kRequestBytes{4 * kMiB, 2 * kMiB, kMiB};
  constexpr std::array<int, 5> kDepths{2, 4, 8, 16, 32};
  std::vector<Choice> tried;
  const auto begin = Clock::now();
  for (const Bytes request_bytes : kRequestBytes) {
    for (const int depth : kDepths) {
      if (!tried.empty() && Clock::now() - begin > to_duration(kSearchSeconds)) break;
      stream.set_requests(request_bytes, depth);
      SLUICE_ASSIGN(const BytesPerSecond bandwidth, stream.bandwidth(std::min(room, kTrialBytes)));
      tried.push_back({request_bytes, depth, bandwidth});
    }
  }
  const auto best = std::max_element(tried.begin(), tried.end(),
                                     [](const Choice& a, const Choice& b) { return a.bandwidth < b.bandwidth; });
  const BytesPerSecond enough = kAsGood * best->bandwidth;
  return *std::find_if(tried.begin(), tried.end(), [&](const Choice& each) { return each.bandwidth >= enough; });
}

Result<FileLinkFigures> measure_alone(ProbeStream stream, Bytes room, const Choice& choice) {
  constexpr int kTinyTransfers = 64;
  stream.set_requests(choice.request_bytes, choice.queue_depth);
  SLUICE_ASSIGN(const BytesPerSecond bandwidth, stream.bandwidth(room));
  SLUICE_ASSIGN(const Seconds tiny, stream.time_transfers(std::min(room, kTensorAlignment), kTinyTransfers));
  return FileLinkFigures{choice.request_bytes, choice.queue_depth, bandwidth, bandwidth, tiny / kTinyTransfers};
}

// One choice for all links of the file: a disk gives each direction a share in proportion to the bytes it is asked for
// at once, so the one with fewer would starve beside the other (an eighth of the bandwidth was seen).
Result<Choice> choose_requests(const Machine& machine, const std::vector<LinkId>& links, const ProbeStorage& storage) {
  Choice common;
  for (const LinkId link : links) {
    ProbeStream stream = storage.stream(machine, link, 0, 1);
    SLUICE_ASSIGN(const Choice choice, choose_requests(stream, storage.room()));
    common.request_bytes = std::max(common.request_bytes, choice.request_bytes);
    common.queue_depth = std::max(common.queue_depth, choice.queue_depth);
  }
  return common;
}

Status measure_together(const Machine& machine, const std::vector<LinkId>& links, const ProbeStorage& storage,
                        std::vector<FileLinkFigures>& figures) {
  const int count = static_cast<int>(links.size());
  const Bytes part = align_down(storage.room() / count, kTensorAlignment);
  if (part == 0) return {};  // no room for both
  Together together(count, part, kTogetherSeconds);
  std::vector<Result<BytesPerSecond>> measured(links.size(), BytesPerSecond{0});
  {
    std::vector<std::jthread> lanes;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ProbeStream stream = storage.stream(machine, links[at], i, count);
      stream.set_requests(figures[at].request_bytes, figures[at].queue_depth);
      lanes.emplace_back(
          [&together, &result = measured[at], stream]() mutable { result = stream.bandwidth_beside(together); });
    }
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    SLUICE_ASSIGN(const BytesPerSecond shared, measured[i]);
    figures[i].shared = std::min(figures[i].alone, shared);
  }
  return {};
}

}  // namespace

Result<std::vector<FileLinkFigures>> measure_file_links(const Machine& machine, const std::vector<LinkId>& links) {
  const ComputeLoad load(machine.threads);
  SLUICE_ASSIGN(const ProbeStorage storage, ProbeStorage::open(machine, machine.link(links.front())));
  SLUICE_ASSIGN(const Choice choice, choose_requests(machine, links, storage));
  std::vector<FileLinkFigures> figures;
  for (const LinkId link : links) {
    SLUICE_ASSIGN(const FileLinkFigures alone,
                  measure_alone(storage.stream(machine, link, 0, 1), storage.room(), choice));
    figures.push_back(alone);
  }
  if (links.size() > 1) SLUICE_RETURN_IF_ERROR(measure_together(machine, links, storage, figures));
  return figures;
}

}  // namespace sluice

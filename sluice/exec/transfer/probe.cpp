#include "sluice/exec/transfer/probe.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "sluice/exec/transfer/deadline.hpp"
#include "sluice/exec/transfer/engine_factory.hpp"
#include "sluice/exec/transfer/streaming_copy.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice {
namespace {

constexpr Bytes kMemoryBytes = 128 * kMiB;  // of each arena: beyond the caches
constexpr int kMemoryRepetitions = 5;       // the best counts: others' work only slows down
constexpr Bytes kFileBytes = kGiB;          // beyond what a disk's own cache absorbs at once
constexpr Bytes kTrialBytes = 128 * kMiB;
constexpr Seconds kSearchSeconds = 0.7;  // a slow disk gets fewer combinations tried, not a longer wait
constexpr double kAsGood = 0.93;         // of the best bandwidth

Seconds time_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<Seconds>(Clock::now() - begin).count();
}

BytesPerSecond best_bandwidth(Bytes bytes, int repetitions, const std::function<void()>& work) {
  BytesPerSecond best = 0;
  for (int i = 0; i < repetitions; ++i) best = std::max(best, static_cast<double>(bytes) / time_of(work));
  return best;
}

void on_threads(int threads, const std::function<void(int)>& work) {
  std::vector<std::jthread> workers;
  for (int thread = 1; thread < threads; ++thread) workers.emplace_back(work, thread);
  work(0);
}

// Sums the words, so that the reads cannot be left out.
std::uint64_t sum_words(const std::byte* data, Bytes bytes) {
  std::uint64_t sum = 0;
  for (Bytes i = 0; i < bytes; i += static_cast<Bytes>(sizeof sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, sizeof word);
    sum += word;
  }
  return sum;
}

struct MemoryBandwidths {
  BytesPerSecond read = 0;   // all compute threads
  BytesPerSecond write = 0;  // all compute threads
  BytesPerSecond copy = 0;   // one lane thread, payload
};

Result<MemoryBandwidths> measure_memory(int threads) {
  SLUICE_ASSIGN(const Arena first, Arena::map(kMemoryBytes, "probe"));
  SLUICE_ASSIGN(const Arena second, Arena::map(kMemoryBytes, "probe"));
  first.prefault(threads);
  second.prefault(threads);
  const Bytes share = align_down(kMemoryBytes / threads, kTensorAlignment);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads));
  MemoryBandwidths measured;
  measured.read = best_bandwidth(share * threads, kMemoryRepetitions, [&] {
    on_threads(threads, [&](int i) { sums[static_cast<std::size_t>(i)] = sum_words(first.data() + share * i, share); });
  });
  measured.write = best_bandwidth(share * threads, kMemoryRepetitions, [&] {
    const int value = static_cast<int>(sums[0] & 1);
    on_threads(threads, [&](int i) { std::memset(first.data() + share * i, value, static_cast<std::size_t>(share)); });
  });
  measured.copy = best_bandwidth(
      kMemoryBytes, 3, [&] { streaming_copy(second.data(), first.data(), static_cast<std::size_t>(kMemoryBytes)); });
  return measured;
}

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

// One file link by itself, unthrottled.
class FileLinkProbe {
 public:
  static Result<FileLinkProbe> open(const Machine& machine, LinkId link_id) {
    FileLinkProbe probe;
    probe.machine_ = machine;
    probe.link_ = link_id;
    probe.link().throttled = false;
    std::vector<Bytes> sizes(machine.tiers.size(), 0);
    for (const TierId id : {probe.link().from, probe.link().to}) {
      const Tier& tier = machine.tier(id);
      const bool file = tier.kind == TierKind::kFile;
      Bytes& size = sizes[static_cast<std::size_t>(id)];
      size = file ? kFileBytes : kMemoryBytes;
      if (tier.capacity > 0) size = align_down(std::min(size, tier.capacity), kTensorAlignment);
      (file ? probe.room_ : probe.memory_) = size;
    }
    probe.writes_ = machine.tier(probe.link().to).kind == TierKind::kFile;
    SLUICE_ASSIGN(probe.storages_, TierStorages::open(machine, sizes));
    SLUICE_RETURN_IF_ERROR(probe.write_file_once());
    return probe;
  }

  Link& link() { return machine_.links[static_cast<std::size_t>(link_)]; }
  Bytes room() const { return room_; }

  // Seconds for `count` transfers of `bytes` each, all under way at once, each at the next place in the file.
  Result<Seconds> time_transfers(Bytes bytes, int count) {
    SLUICE_ASSIGN(auto engine, make_engine(machine_, link_, storages_));
    std::vector<FinishedTransfer> finished;
    const Seconds taken = time_of([&] {
      for (TransferIndex index = 0; index < count; ++index) {
        if (next_ + bytes > room_) next_ = 0;
        const Bytes in_memory = next_ % std::max(kTensorAlignment, memory_ - bytes + kTensorAlignment);
        engine->submit(index, writes_ ? in_memory : next_, writes_ ? next_ : in_memory, bytes);
        next_ += bytes;
      }
      while (engine->in_flight() > 0) engine->wait(std::nullopt, finished);
    });
    for (const FinishedTransfer& each : finished) SLUICE_RETURN_IF_ERROR(each.status);
    return taken;
  }

 private:
  // Blocks that were only preallocated read as zeros without the disk, and cost more to write the first time.
  Status write_file_once() {
    const TierId file_tier = storages_.file(link().from) != nullptr ? link().from : link().to;
    const std::vector<std::byte> content(static_cast<std::size_t>(4 * kMiB), std::byte{0x5a});
    for (Bytes at = 0; at < room_; at += 4 * kMiB) {
      const auto bytes = static_cast<std::size_t>(std::min(4 * kMiB, room_ - at));
      SLUICE_RETURN_IF_ERROR(storages_.write(file_tier, at, std::span(content).first(bytes)));
    }
    return {};
  }

  Machine machine_;
  LinkId link_ = 0;
  TierStorages storages_;
  Bytes room_ = 0;    // of the file
  Bytes memory_ = 0;  // of the arena
  Bytes next_ = 0;    // where in the file the next transfer goes
  bool writes_ = false;
};

struct Choice {
  Bytes request_bytes = 0;
  int queue_depth = 0;
  BytesPerSecond bandwidth = 0;
};

// Bandwidth of `bytes` in transfers of at most 16 MiB.
Result<BytesPerSecond> stream(FileLinkProbe& probe, Bytes bytes) {
  const Bytes transfer = std::min(bytes, 16 * kMiB);
  const int count = static_cast<int>(bytes / transfer);
  SLUICE_ASSIGN(const Seconds taken, probe.time_transfers(transfer, count));
  return static_cast<double>(transfer * count) / taken;
}

// Tries large requests and short queues first, and keeps the first that is as good as the best: they cost least CPU.
Result<Choice> choose_requests(FileLinkProbe& probe) {
  constexpr std::array<Bytes, 3> kRequestBytes{4 * kMiB, 2 * kMiB, kMiB};
  constexpr std::array<int, 5> kDepths{2, 4, 8, 16, 32};
  std::vector<Choice> tried;
  const auto begin = Clock::now();
  for (const Bytes request_bytes : kRequestBytes) {
    for (const int depth : kDepths) {
      if (!tried.empty() && Clock::now() - begin > to_duration(kSearchSeconds)) break;
      probe.link().request_bytes = request_bytes;
      probe.link().queue_depth = depth;
      SLUICE_ASSIGN(const BytesPerSecond bandwidth, stream(probe, std::min(probe.room(), kTrialBytes)));
      tried.push_back({request_bytes, depth, bandwidth});
    }
  }
  const auto best = std::max_element(tried.begin(), tried.end(),
                                     [](const Choice& a, const Choice& b) { return a.bandwidth < b.bandwidth; });
  const BytesPerSecond enough = kAsGood * best->bandwidth;
  return *std::find_if(tried.begin(), tried.end(), [&](const Choice& each) { return each.bandwidth >= enough; });
}

void impose(Link& link, BytesPerSecond measured, Seconds latency) {
  if (link.throttled) {
    link.bandwidth = std::min(link.bandwidth, measured);
    return;
  }
  link.bandwidth = measured;
  link.latency = latency;
  link.provenance = Provenance::kMeasured;
}

// `latency` is what each transfer adds to a stream of them: the time of one of many tiny ones.
Status measure_file_link(Machine& machine, LinkId id) {
  constexpr int kTinyTransfers = 64;
  const ComputeLoad load(machine.threads);
  SLUICE_ASSIGN(FileLinkProbe probe, FileLinkProbe::open(machine, id));
  SLUICE_ASSIGN(const Choice choice, choose_requests(probe));
  probe.link().request_bytes = choice.request_bytes;
  probe.link().queue_depth = choice.queue_depth;
  SLUICE_ASSIGN(const BytesPerSecond bandwidth, stream(probe, probe.room()));
  SLUICE_ASSIGN(const Seconds tiny, probe.time_transfers(std::min(probe.room(), kTensorAlignment), kTinyTransfers));
  Link& link = machine.links[static_cast<std::size_t>(id)];
  link.request_bytes = choice.request_bytes;
  link.queue_depth = choice.queue_depth;
  impose(link, bandwidth, tiny / kTinyTransfers);
  return {};
}

void set_memory_tiers(const MemoryBandwidths& measured, Machine& machine) {
  for (Tier& tier : machine.tiers) {
    if (tier.kind != TierKind::kDram) continue;
    tier.read_bandwidth = measured.read;
    tier.write_bandwidth = measured.write;
    tier.provenance = Provenance::kMeasured;
  }
}

}  // namespace

Status measure_links(Machine& machine) {
  SLUICE_ASSIGN(const MemoryBandwidths memory, measure_memory(machine.threads));
  set_memory_tiers(memory, machine);
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    Link& link = machine.links[i];
    const bool file = machine.tier(link.from).kind == TierKind::kFile || machine.tier(link.to).kind == TierKind::kFile;
    if (file) {
      SLUICE_RETURN_IF_ERROR(measure_file_link(machine, static_cast<LinkId>(i)));
    } else {
      impose(link, memory.copy, link.latency);
    }
  }
  return {};
}

}  // namespace sluice

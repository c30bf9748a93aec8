#include "sluice/exec/transfer/probe.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
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
constexpr Bytes kFileBytes = 256 * kMiB;
constexpr Seconds kSearchSeconds = 0.5;  // a slow disk gets fewer combinations tried, not a longer wait
constexpr double kAsGood = 0.97;         // of the best bandwidth

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
      const Bytes wanted = tier.kind == TierKind::kFile ? kFileBytes : kMemoryBytes;
      sizes[static_cast<std::size_t>(id)] = tier.capacity > 0 ? std::min(wanted, tier.capacity) : wanted;
    }
    probe.room_ = align_down(
        std::min(sizes[static_cast<std::size_t>(probe.link().from)], sizes[static_cast<std::size_t>(probe.link().to)]),
        kTensorAlignment);
    SLUICE_ASSIGN(probe.storages_, TierStorages::open(machine, sizes));
    SLUICE_RETURN_IF_ERROR(probe.write_file_once());
    return probe;
  }

  Link& link() { return machine_.links[static_cast<std::size_t>(link_)]; }
  Bytes room() const { return room_; }

  // Seconds for `bytes` in transfers of at most 16 MiB, all under way at once.
  Result<Seconds> time_transfers(Bytes bytes) {
    SLUICE_ASSIGN(auto engine, make_engine(machine_, link_, storages_));
    std::vector<FinishedTransfer> finished;
    const Seconds taken = time_of([&] {
      TransferIndex index = 0;
      for (Bytes at = 0; at < bytes; at += kTransferBytes) {
        engine->submit(index++, at, at, std::min(kTransferBytes, bytes - at));
      }
      while (engine->in_flight() > 0) engine->wait(std::nullopt, finished);
    });
    for (const FinishedTransfer& each : finished) SLUICE_RETURN_IF_ERROR(each.status);
    return taken;
  }

 private:
  static constexpr Bytes kTransferBytes = 16 * kMiB;

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
  Bytes room_ = 0;
};

struct Choice {
  Bytes request_bytes = 0;
  int queue_depth = 0;
  BytesPerSecond bandwidth = 0;
};

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
      const Bytes bytes = std::min(probe.room(), 64 * kMiB);
      SLUICE_ASSIGN(const Seconds taken, probe.time_transfers(bytes));
      tried.push_back({request_bytes, depth, static_cast<double>(bytes) / taken});
    }
  }
  const auto best = std::max_element(tried.begin(), tried.end(),
                                     [](const Choice& a, const Choice& b) { return a.bandwidth < b.bandwidth; });
  const BytesPerSecond enough = kAsGood * best->bandwidth;
  return *std::find_if(tried.begin(), tried.end(), [&](const Choice& each) { return each.bandwidth >= enough; });
}

template <typename T, std::size_t N>
T median(std::array<T, N> values) {
  std::nth_element(values.begin(), values.begin() + N / 2, values.end());
  return values[N / 2];
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

Status measure_file_link(Machine& machine, LinkId id) {
  SLUICE_ASSIGN(FileLinkProbe probe, FileLinkProbe::open(machine, id));
  SLUICE_ASSIGN(const Choice choice, choose_requests(probe));
  probe.link().request_bytes = choice.request_bytes;
  probe.link().queue_depth = choice.queue_depth;
  std::array<Seconds, 3> large{};
  for (Seconds& each : large) {
    SLUICE_ASSIGN(each, probe.time_transfers(probe.room()));
  }
  std::array<Seconds, 9> small{};
  for (Seconds& each : small) {
    SLUICE_ASSIGN(each, probe.time_transfers(std::min(probe.room(), kTensorAlignment)));
  }
  Link& link = machine.links[static_cast<std::size_t>(id)];
  link.request_bytes = choice.request_bytes;
  link.queue_depth = choice.queue_depth;
  impose(link, static_cast<double>(probe.room()) / median(large), median(small));
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

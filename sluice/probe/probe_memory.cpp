#include "sluice/probe/probe_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/time_of.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"

namespace sluice::probe {
namespace {

constexpr Bytes kProbedMemoryBytes = 128 * kMiB;  // of each arena: beyond the caches
constexpr int kMemoryRepetitions = 5;

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
  for (Bytes i = 0; i < bytes; i += Bytes{sizeof sum}) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, sizeof word);
    sum += word;
  }
  return sum;
}

// Tiers that are measured themselves may be small, and what is not there is refused.
Bytes probed_bytes(const memory::Tier& from, const memory::Tier& to) {
  Bytes bytes = kProbedMemoryBytes;
  for (const memory::Tier* tier : {&from, &to}) {
    if (tier->kind->figures == memory::FiguresFrom::kTheTier)
      bytes = std::min(bytes, align_down(tier->capacity / 4, memory::kBlockAlignment));
  }
  return bytes;
}

}  // namespace

Result<ProbeArenas> map_probe_arenas(const memory::Tier& from, const memory::Tier& to, int threads) {
  const Bytes bytes = probed_bytes(from, to);
  ProbeArenas arenas;
  SLUICE_ASSIGN(arenas.from, memory::map_tier_arena(from, bytes));
  SLUICE_ASSIGN(arenas.to, memory::map_tier_arena(to, bytes));
  arenas.from.prefault(threads);
  arenas.to.prefault(threads);
  return arenas;
}

Result<MemoryBandwidths> measure_memory(const memory::Tier& tier, int threads) {
  const Bytes bytes = probed_bytes(tier, tier);
  SLUICE_ASSIGN(const memory::Arena arena, memory::map_tier_arena(tier, bytes));
  arena.prefault(threads);
  const Bytes share = align_down(bytes / threads, memory::kBlockAlignment);
  std::vector<std::uint64_t> sums(as_index(threads));
  MemoryBandwidths measured;
  measured.read = best_bandwidth(share * threads, kMemoryRepetitions, [&] {
    on_threads(threads, [&](int i) { sums[as_index(i)] = sum_words(arena.data() + share * i, share); });
  });
  measured.write = best_bandwidth(share * threads, kMemoryRepetitions, [&] {
    const int value = static_cast<int>(sums[0] & 1);
    on_threads(threads, [&](int i) { std::memset(arena.data() + share * i, value, as_index(share)); });
  });
  return measured;
}

}  // namespace sluice::probe

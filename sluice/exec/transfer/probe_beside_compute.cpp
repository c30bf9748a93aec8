#include "sluice/exec/transfer/probe_beside_compute.hpp"

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "sluice/exec/cpu_affinity.hpp"
#include "sluice/exec/transfer/probe_clock.hpp"
#include "sluice/exec/transfer/probe_memory.hpp"
#include "sluice/exec/transfer/shared_copy_engine.hpp"
#include "sluice/exec/transfer/throttled_engine.hpp"

namespace sluice {
namespace {

constexpr int kRounds = 5;
constexpr Seconds kPatience = 3;           // no round begins later: on a busy machine barriers take for ever
constexpr Seconds kAlone = 0.03;           // how long the load takes by itself
constexpr std::size_t kShare = 64 * 1024;  // floats that a thread works on in one region: what a core's cache holds
constexpr int kPasses = 4;                 // over them: about 0.1 ms, as an op of a small network
constexpr std::size_t kFloats = 16 * 1024 * 1024;  // beyond the caches; regions walk through them

// The compute threads' part: reads from memory, and computes with what it has read.
class Load {
 public:
  explicit Load(int threads) : threads_(threads), data_(kFloats, 1.0F) {
    // The shortest of three: others' work would pass for ours.
    while (std::min({seconds(), seconds(), seconds()}) < kAlone) regions_ *= 2;
  }

  // `between`: called behind every region, as behind an op.
  template <typename Between>
  Seconds seconds(const Between& between) {
    return time_of([&] {
      for (int i = 0; i < regions_; ++i) {
        run_region();
        between();
      }
    });
  }
  Seconds seconds() {
    return seconds([] {});
  }

 private:
  void run_region() {
    const std::size_t stride = kShare * static_cast<std::size_t>(threads_);
    if (at_ + stride > data_.size()) at_ = 0;
    float total = 0;
#pragma omp parallel for num_threads(threads_) schedule(static) reduction(+ : total)
    for (int thread = 0; thread < threads_; ++thread) {
      total += work_on(data_.data() + at_ + kShare * static_cast<std::size_t>(thread));
    }
    at_ += stride;
    kept_ = total;
  }

  static float work_on(const float* values) {
    constexpr std::size_t kLanes = 16;
    float sums[kLanes] = {};
    for (int pass = 0; pass < kPasses; ++pass) {
      for (std::size_t i = 0; i < kShare; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] = sums[lane] * 0.5F + values[i + lane];
      }
    }
    float total = 0;
    for (const float sum : sums) total += sum;
    return total;
  }

  int threads_;
  std::vector<float> data_;
  std::size_t at_ = 0;
  int regions_ = 8;
  volatile float kept_ = 0;  // so that nothing can be left out
};

// Lanes at work, from construction to destruction: the first copies into fast memory, the second back, each in a half
// of its own, as fast as its engine does.
class Lanes {
 public:
  Lanes(const ProbeArenas& arenas, int count, int threads)
      : threads_(threads), half_(align_down(arenas.from.bytes() / 2, kTensorAlignment)), copying_(count) {
    std::byte* const slow = arenas.from.data();
    std::byte* const fast = arenas.to.data();
    engines_.push_back(make_copy_engine(slow, fast, cached_copy, threads));
    if (count == 2) engines_.push_back(make_copy_engine(fast + half_, slow + half_, streaming_copy, threads));
    for (const auto& engine : engines_) {
      engine->expect_help(true);
      lanes_.emplace_back([this, &engine = *engine] { run(engine); });
    }
    copying_.wait();
  }
  ~Lanes() {
    stop_ = true;
    for (const auto& engine : engines_) engine->expect_help(false);
  }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  void help() {
    for (const auto& engine : engines_) engine->help(threads_);
  }
  Bytes moved() const { return moved_; }

 private:
  void run(TransferEngine& engine) {
    allow_every_cpu();
    copying_.count_down();
    const Bytes piece = std::min(ThrottledEngine::kPieceBytes, half_);
    std::vector<FinishedTransfer> finished;
    for (Bytes at = 0; !stop_; at = at + 2 * piece <= half_ ? at + piece : 0) {
      engine.submit(0, at, at, piece);
      while (engine.in_flight() > 0) engine.wait(std::nullopt, finished);
      moved_ += piece;
    }
  }

  int threads_;
  Bytes half_;
  std::latch copying_;
  std::atomic<bool> stop_{false};
  std::atomic<Bytes> moved_{0};
  std::vector<std::unique_ptr<TransferEngine>> engines_;
  std::vector<std::jthread> lanes_;  // ends before what it uses
};

struct Beside {
  Seconds seconds = 0;  // of the load
  Bytes moved = 0;      // meanwhile

  BytesPerSecond bandwidth() const { return static_cast<double>(moved) / seconds; }
};

Beside run_beside(Load& load, const ProbeArenas& arenas, int lanes, int threads) {
  Lanes beside(arenas, lanes, threads);
  const Bytes before = beside.moved();
  const Seconds seconds = load.seconds([&] { beside.help(); });
  return {seconds, beside.moved() - before};
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

Result<CopyBesideCompute> measure_copy_beside_compute(const Tier& slow, const Tier& fast, int threads) {
  SLUICE_ASSIGN(const ProbeArenas arenas, map_probe_arenas(slow, fast, threads));
  Load load(threads);
  std::vector<Beside> beside_one;
  std::vector<double> one;
  std::vector<double> both;
  Seconds alone = load.seconds();
  const auto begin = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0 && Clock::now() - begin > to_duration(kPatience)) break;
    alone = std::min(alone, load.seconds());
    beside_one.push_back(run_beside(load, arenas, 1, threads));
    one.push_back(beside_one.back().bandwidth());
    both.push_back(run_beside(load, arenas, 2, threads).bandwidth() / 2);
  }
  std::vector<double> lost;
  for (const Beside& each : beside_one) {
    lost.push_back((each.seconds - alone) / static_cast<double>(std::max(each.moved, Bytes{1})));
  }
  CopyBesideCompute measured;
  measured.one = std::max(1.0, median_of(one));
  measured.both = std::clamp(median_of(both), 1.0, measured.one);
  measured.lost_per_byte = std::clamp(median_of(lost), 0.0, 1 / measured.one);
  return measured;
}

}  // namespace sluice

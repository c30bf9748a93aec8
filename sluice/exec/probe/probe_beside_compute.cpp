#include "sluice/exec/probe/probe_beside_compute.hpp"

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "sluice/base/time_of.hpp"
#include "sluice/exec/cpu_affinity.hpp"
#include "sluice/exec/probe/probe_memory.hpp"
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

// A lane at work, from construction to destruction: copies a range over and over, as fast as its engine does.
class Lane {
 public:
  Lane(std::unique_ptr<TransferEngine> engine, Bytes bytes) : engine_(std::move(engine)), bytes_(bytes) {
    engine_->expect_help(true);
    thread_ = std::jthread([this] { run(); });
    copying_.wait();
  }
  ~Lane() {
    stop_ = true;
    engine_->expect_help(false);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void help(int threads) { engine_->help(threads); }
  Bytes moved() const { return moved_; }

 private:
  void run() {
    allow_every_cpu();
    copying_.count_down();
    const Bytes piece = std::min(ThrottledEngine::kPieceBytes, bytes_);
    std::vector<FinishedTransfer> finished;
    for (Bytes at = 0; !stop_; at = at + 2 * piece <= bytes_ ? at + piece : 0) {
      engine_->submit(0, at, at, piece);
      while (engine_->in_flight() > 0) engine_->wait(std::nullopt, finished);
      moved_ += piece;
    }
  }

  std::unique_ptr<TransferEngine> engine_;
  Bytes bytes_;
  std::latch copying_{1};
  std::atomic<bool> stop_{false};
  std::atomic<Bytes> moved_{0};
  std::jthread thread_;  // ends before what it uses
};

enum Directions : unsigned { kInward = 1, kOutward = 2 };

struct Beside {
  Seconds seconds = 0;  // of the load
  Bytes in = 0;         // moved meanwhile
  Bytes out = 0;

  BytesPerSecond bandwidth(Bytes bytes) const { return static_cast<double>(bytes) / seconds; }
};

class Copies {
 public:
  Copies(const ProbeArenas& arenas, int threads, const EmulatedCopies& emulated)
      : arenas_(arenas), threads_(threads), emulated_(emulated) {}

  // The first half of both arenas is for copies inward, the second for those outward.
  Beside run_beside(Load& load, unsigned directions) const {
    const Bytes half = align_down(arenas_.from.bytes() / 2, kTensorAlignment);
    std::byte* const slow = arenas_.from.data();
    std::byte* const fast = arenas_.to.data();
    std::unique_ptr<Lane> in, out;
    if ((directions & kInward) != 0) {
      in = std::make_unique<Lane>(make_copy_engine(slow, fast, cached_copy, threads_, emulated_.inward), half);
    }
    if ((directions & kOutward) != 0) {
      out = std::make_unique<Lane>(
          make_copy_engine(fast + half, slow + half, streaming_copy, threads_, emulated_.outward), half);
    }
    const auto moved = [](const auto& lane) { return lane ? lane->moved() : 0; };
    const Beside before{0, moved(in), moved(out)};
    const Seconds seconds = load.seconds([&] {
      if (in) in->help(threads_);
      if (out) out->help(threads_);
    });
    return {seconds, moved(in) - before.in, moved(out) - before.out};
  }

 private:
  const ProbeArenas& arenas_;
  int threads_;
  EmulatedCopies emulated_;
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// What rounds have shown of one lane.
struct LaneRounds {
  std::vector<double> alone, shared;
  std::vector<std::pair<Seconds, Bytes>> beside;  // how long the load took, and what was moved

  LaneBesideCompute figures(Seconds load_alone) const {
    std::vector<double> lost;
    for (const auto& [seconds, moved] : beside) {
      lost.push_back((seconds - load_alone) / static_cast<double>(std::max(moved, Bytes{1})));
    }
    LaneBesideCompute lane;
    lane.alone = std::max(1.0, median_of(alone));
    lane.shared = std::clamp(median_of(shared), 1.0, lane.alone);
    lane.lost_per_byte = std::clamp(median_of(lost), 0.0, 1 / lane.alone);
    return lane;
  }
};

}  // namespace

Result<CopyBesideCompute> measure_copy_beside_compute(const Tier& slow, const Tier& fast, int threads,
                                                      const EmulatedCopies& emulated) {
  SLUICE_ASSIGN(const ProbeArenas arenas, map_probe_arenas(slow, fast, threads));
  Load load(threads);
  const Copies copies(arenas, threads, emulated);
  LaneRounds inward, outward;
  Seconds alone = load.seconds();
  const auto begin = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0 && Clock::now() - begin > to_duration(kPatience)) break;
    alone = std::min(alone, load.seconds());
    const Beside in = copies.run_beside(load, kInward);
    inward.alone.push_back(in.bandwidth(in.in));
    inward.beside.emplace_back(in.seconds, in.in);
    const Beside out = copies.run_beside(load, kOutward);
    outward.alone.push_back(out.bandwidth(out.out));
    outward.beside.emplace_back(out.seconds, out.out);
    const Beside both = copies.run_beside(load, kInward | kOutward);
    inward.shared.push_back(both.bandwidth(both.in));
    outward.shared.push_back(both.bandwidth(both.out));
  }
  return CopyBesideCompute{inward.figures(alone), outward.figures(alone)};
}

}  // namespace sluice

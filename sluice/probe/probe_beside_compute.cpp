#include "sluice/probe/probe_beside_compute.hpp"

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/kernels/compute_threads.hpp"
#include "sluice/memory/transfer/shared_copy_engine.hpp"
#include "sluice/memory/transfer/throttled_engine.hpp"
#include "sluice/probe/compute_load.hpp"
#include "sluice/probe/probe_memory.hpp"

namespace sluice::probe {
namespace {

constexpr Seconds kPieceTime = 2e-3;  // of a lane at most: a load takes fifteen times as long, and whole pieces count
constexpr Seconds kPatience = 3;      // no round begins later: on a busy machine barriers take for ever

// A lane at work, from construction to destruction: copies a range over and over, as fast as its engine does.
class Lane {
 public:
  // `held`: the bandwidth for which it is held, or 0.
  Lane(std::unique_ptr<memory::TransferEngine> engine, Bytes bytes, BytesPerSecond held)
      : engine_(std::move(engine)), bytes_(bytes), piece_(std::min(memory::ThrottledEngine::kPieceBytes, bytes)) {
    const auto in_time = static_cast<Bytes>(held * kPieceTime);
    if (held > 0) piece_ = std::clamp(align_down(in_time, memory::kBlockAlignment), memory::kBlockAlignment, piece_);
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

  void help(const RunTogether& run) { engine_->help(run); }
  Bytes moved() const { return moved_; }

 private:
  void run() {
    allow_every_cpu();
    copying_.count_down();
    std::vector<memory::FinishedTransfer> finished;
    for (Bytes at = 0; !stop_; at = at + 2 * piece_ <= bytes_ ? at + piece_ : 0) {
      engine_->submit(0, at, at, piece_);
      while (engine_->in_flight() > 0) engine_->wait(std::nullopt, finished);
      moved_ += piece_;
    }
  }

  std::unique_ptr<memory::TransferEngine> engine_;
  Bytes bytes_;
  Bytes piece_;
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
  Beside run_beside(ComputeLoad& load, unsigned directions) const {
    const Bytes half = align_down(arenas_.from.bytes() / 2, memory::kBlockAlignment);
    std::byte* const slow = arenas_.from.data();
    std::byte* const fast = arenas_.to.data();
    std::unique_ptr<Lane> in, out;
    if ((directions & kInward) != 0) {
      in = std::make_unique<Lane>(memory::make_copy_engine(slow, fast, memory::cached_copy, threads_, emulated_.inward),
                                  half, emulated_.inward);
    }
    if ((directions & kOutward) != 0) {
      out = std::make_unique<Lane>(
          memory::make_copy_engine(fast + half, slow + half, memory::streaming_copy, threads_, emulated_.outward), half,
          emulated_.outward);
    }
    const auto moved = [](const auto& lane) { return lane ? lane->moved() : 0; };
    const Beside before{0, moved(in), moved(out)};
    const RunTogether together = kernels::on_compute_threads(threads_);
    const Seconds seconds = load.seconds([&] {
      if (in) in->help(together);
      if (out) out->help(together);
    });
    return {seconds, moved(in) - before.in, moved(out) - before.out};
  }

 private:
  const ProbeArenas& arenas_;
  int threads_;
  EmulatedCopies emulated_;
};

double median_of(std::vector<double> values) {
  const auto middle = iterator_at(values, values.size() / 2);
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

Result<CopyBesideCompute> measure_copy_beside_compute(const memory::Tier& slow, const memory::Tier& fast, int threads,
                                                      const EmulatedCopies& emulated, int rounds) {
  SLUICE_ASSIGN(const ProbeArenas arenas, map_probe_arenas(slow, fast, threads));
  ComputeLoad load(threads);
  const Copies copies(arenas, threads, emulated);
  LaneRounds inward, outward;
  Seconds alone = load.seconds();
  const auto begin = Clock::now();
  for (int round = 0; round < rounds; ++round) {
    if (round > 0 && Clock::now() - begin > memory::to_duration(kPatience)) break;
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

}  // namespace sluice::probe

#include "sluice/exec/profiler.hpp"

#include <pmmintrin.h>
#include <spdlog/spdlog.h>
#include <xmmintrin.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "sluice/exec/scratch_ring.hpp"

namespace sluice {
namespace {

constexpr int kEnoughPasses = 3;
constexpr std::size_t kEnoughSamples = 5;
constexpr std::size_t kEnoughLongSamples = 3;
constexpr Seconds kLongOp = 0.1;
constexpr OpIndex kOpsBefore = 2;  // run before a measured op, so that it finds the caches as in a step

class ZeroInput : public InputSource {
 public:
  Status fill(std::int64_t, std::span<const std::span<std::byte>> tensors) override {
    for (const std::span<std::byte> tensor : tensors) std::fill(tensor.begin(), tensor.end(), std::byte{0});
    return {};
  }
};

// Keeps denormals out of the compute threads while values mean nothing: they make some ops several times slower.
class DenormalsFlushed {
 public:
  explicit DenormalsFlushed(int threads) : threads_(threads) { set(_MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON); }
  ~DenormalsFlushed() { set(0); }
  DenormalsFlushed(const DenormalsFlushed&) = delete;
  DenormalsFlushed& operator=(const DenormalsFlushed&) = delete;

 private:
  void set(unsigned mode) const {
#pragma omp parallel num_threads(threads_)
    _mm_setcsr((_mm_getcsr() & ~static_cast<unsigned>(_MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON)) | mode);
  }
  int threads_;
};

using Samples = std::map<std::string, std::vector<Seconds>>;  // by signature, what the cache does not know

bool enough(const std::vector<Seconds>& samples, int passes) {
  if (passes < kEnoughPasses) return false;
  const bool is_long = *std::min_element(samples.begin(), samples.end()) > kLongOp;
  return samples.size() >= (is_long ? kEnoughLongSamples : kEnoughSamples);
}

OpMeasurement summarize(std::vector<Seconds> samples) {
  std::sort(samples.begin(), samples.end());
  return {.median_seconds = samples[samples.size() / 2],
          .min_seconds = samples.front(),
          .max_seconds = samples.back(),
          .samples = static_cast<int>(samples.size())};
}

Result<Seconds> time_op(CompiledGraph& compiled, OpIndex op, ScratchRing& scratch, ZeroInput& input) {
  const Op& instruction = compiled.graph().op(op);
  const std::vector<void*> operands = scratch.place(instruction);
  const StepContext context{.input = &input};
  const auto begin = std::chrono::steady_clock::now();
  const Status status = compiled.run(op, operands, context);
  const Seconds seconds = std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin).count();
  if (!status.ok()) {
    return Error{status.error().code, "measuring op " + instruction.name + " failed: " + status.error().message};
  }
  scratch.clear_integers(instruction, operands);
  return seconds;
}

class StepMeasurement {
 public:
  StepMeasurement(CompiledGraph& compiled, std::vector<std::string> signatures, Samples wanted)
      : compiled_(compiled), signatures_(std::move(signatures)), samples_(std::move(wanted)) {}

  Status measure(int threads, const ProfileProgress& on_progress) {
    SLUICE_ASSIGN(ScratchRing scratch, ScratchRing::make(compiled_.graph(), threads));
    const DenormalsFlushed flushed(threads);
    SLUICE_RETURN_IF_ERROR(run_pass(scratch));
    for (auto& [signature, seconds] : samples_) seconds.clear();  // the first pass warmed up
    for (int passes = 0; done_.size() < samples_.size();) {
      SLUICE_RETURN_IF_ERROR(run_pass(scratch));
      ++passes;
      for (const auto& [signature, seconds] : samples_) {
        if (enough(seconds, passes)) done_.insert(signature);
      }
      if (on_progress) on_progress(static_cast<int>(done_.size()), static_cast<int>(samples_.size()));
    }
    return {};
  }

  const Samples& samples() const { return samples_; }

 private:
  bool wanted(OpIndex op) const {
    const std::string& signature = signatures_[static_cast<std::size_t>(op)];
    return samples_.contains(signature) && !done_.contains(signature);
  }

  Status run_pass(ScratchRing& scratch) {
    const OpIndex op_count = compiled_.graph().op_count();
    OpIndex next = 0;  // first op not yet run in this pass
    for (OpIndex op = 0; op < op_count; ++op) {
      if (!wanted(op)) continue;
      for (next = std::max(next, op - kOpsBefore); next <= op; ++next) {
        SLUICE_ASSIGN(const Seconds seconds, time_op(compiled_, next, scratch, input_));
        if (next == op) samples_[signatures_[static_cast<std::size_t>(op)]].push_back(seconds);
      }
    }
    return {};
  }

  CompiledGraph& compiled_;
  std::vector<std::string> signatures_;  // by OpIndex
  Samples samples_;
  std::set<std::string> done_;
  ZeroInput input_;
};

}  // namespace

Result<Profile> measure_profile(CompiledGraph& compiled, const Machine& machine, ProfileCache& cache,
                                const ProfileProgress& on_progress) {
  const Graph& graph = compiled.graph();
  std::vector<std::string> signatures;
  Samples wanted;
  for (const Op& op : graph.ops()) {
    signatures.push_back(op_signature(graph, op));
    if (!cache.find_op(signatures.back())) wanted[signatures.back()];
  }
  if (!wanted.empty()) {
    StepMeasurement measurement(compiled, signatures, std::move(wanted));
    SLUICE_RETURN_IF_ERROR(measurement.measure(machine.threads, on_progress));
    for (const auto& [signature, seconds] : measurement.samples()) cache.put_op(signature, summarize(seconds));
    if (const Status saved = cache.save(); !saved.ok()) spdlog::warn(saved.error().message);
  }
  Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  for (const std::string& signature : signatures)
    profile.op_seconds.push_back(cache.find_op(signature)->median_seconds);
  return profile;
}

}  // namespace sluice

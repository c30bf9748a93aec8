#include "sluice/measure/profiler.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>

#include "sluice/measure/op_timer.hpp"

namespace sluice {
namespace {

constexpr int kEnoughPasses = 3;
constexpr std::size_t kEnoughSamples = 5;
constexpr std::size_t kEnoughLongSamples = 3;
constexpr Seconds kOpRarelyRepeated = 0.1;
constexpr int kMostBatches = 3;  // of samples, while they are noisy

struct OpSamples {
  std::vector<Seconds> warm;
  std::vector<Seconds> cold;  // as many
};
using Samples = std::map<std::string, OpSamples>;  // by signature, what the cache does not know

bool enough(const std::vector<Seconds>& samples, int passes) {
  if (passes < kEnoughPasses) return false;
  const bool is_long = *std::min_element(samples.begin(), samples.end()) > kOpRarelyRepeated;
  return samples.size() >= (is_long ? kEnoughLongSamples : kEnoughSamples);
}

class StepMeasurement {
 public:
  StepMeasurement(CompiledGraph& compiled, std::vector<std::string> signatures, Samples wanted)
      : compiled_(compiled), signatures_(std::move(signatures)), samples_(std::move(wanted)) {}

  Status measure(int threads, const ProfileProgress& on_progress) {
    SLUICE_ASSIGN(timer_, OpTimer::make(compiled_, threads));
    SLUICE_RETURN_IF_ERROR(run_pass());  // warms up
    for (int batch = 0; batch < kMostBatches; ++batch) {
      SLUICE_RETURN_IF_ERROR(run_batch(on_progress));
      keep_shorter();
      if (noise() <= kNoise) return {};
    }
    spdlog::warn("op times differ by {:.0f} % from sample to sample: something else keeps this machine busy",
                 100 * noise());
    return {};
  }

  const std::map<std::string, OpMeasurement>& measurements() const { return measurements_; }

 private:
  Status run_batch(const ProfileProgress& on_progress) {
    for (auto& [signature, samples] : samples_) samples = {};
    done_.clear();
    for (int passes = 1; done_.size() < samples_.size(); ++passes) {
      SLUICE_RETURN_IF_ERROR(run_pass());
      for (const auto& [signature, samples] : samples_) {
        if (enough(samples.warm, passes)) done_.insert(signature);
      }
      if (on_progress) on_progress(static_cast<int>(done_.size()), static_cast<int>(samples_.size()));
    }
    return {};
  }

  void keep_shorter() {
    for (const auto& [signature, samples] : samples_) {
      const OpMeasurement now{summarize(samples.warm), summarize(samples.cold)};
      OpMeasurement& kept = measurements_.try_emplace(signature, now).first->second;
      if (now.warm.median < kept.warm.median) kept.warm = now.warm;
      if (now.cold.median < kept.cold.median) kept.cold = now.cold;
    }
  }

  // By how much the medians of this batch are above the shortest samples, over the step.
  double noise() const {
    Seconds medians = 0;
    Seconds shortest = 0;
    for (const std::string& signature : signatures_) {
      const auto found = samples_.find(signature);
      if (found == samples_.end()) continue;
      const Timing timing = summarize(found->second.warm);
      medians += timing.median;
      shortest += timing.min;
    }
    return medians / shortest - 1;
  }

  // The samples that an op still needs; nullptr when it has enough.
  OpSamples* wanted(OpIndex op) {
    const std::string& signature = signatures_[static_cast<std::size_t>(op)];
    const auto found = samples_.find(signature);
    return found == samples_.end() || done_.contains(signature) ? nullptr : &found->second;
  }

  // An op timed cold leaves its operands in the caches as it did when it was timed warm, for the ops behind it.
  Status run_pass() {
    OpIndex next = 0;  // first op not yet run in this pass
    for (OpIndex op = 0; op < compiled_.graph().op_count(); ++op) {
      OpSamples* const samples = wanted(op);
      if (samples == nullptr) continue;
      for (next = std::max(next, op - kOpsBefore); next < op; ++next) SLUICE_RETURN_IF_ERROR(timer_->run(next));
      SLUICE_ASSIGN(const Seconds warm, timer_->run(op));
      SLUICE_ASSIGN(const Seconds cold, timer_->run_cold(op));
      samples->warm.push_back(warm);
      samples->cold.push_back(cold);
      next = op + 1;
    }
    return {};
  }

  CompiledGraph& compiled_;
  std::vector<std::string> signatures_;  // by OpIndex
  Samples samples_;                      // of this batch
  std::set<std::string> done_;           // of this batch
  std::map<std::string, OpMeasurement> measurements_;
  std::unique_ptr<OpTimer> timer_;
};

Profile profile_from(const ProfileCache& cache, const Graph& graph, const Machine& machine,
                     const std::vector<std::string>& signatures) {
  Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  for (const std::string& signature : signatures) {
    const OpMeasurement known = cache.find_op(signature).value();
    profile.op_seconds.push_back(known.warm.median);
    profile.cold_seconds.push_back(known.cold.median);
  }
  profile.distinct_ops = static_cast<int>(std::set(signatures.begin(), signatures.end()).size());
  profile.placements = known_placements(graph, machine, cache);
  return profile;
}

}  // namespace

Result<Profile> measure_profile(CompiledGraph& compiled, const Machine& machine, ProfileCache& cache,
                                const ProfileProgress& on_progress, KnownTimes known) {
  const Graph& graph = compiled.graph();
  std::vector<std::string> signatures;
  Samples wanted;
  for (const Op& op : graph.ops()) {
    signatures.push_back(op_signature(graph, op));
    if (known == KnownTimes::kReplace || !cache.find_op(signatures.back())) wanted[signatures.back()];
  }
  const auto measured = static_cast<int>(wanted.size());
  spdlog::debug("op times of {}: {} distinct ops to measure, the rest from {}", graph.name, measured,
                cache.path().string());
  if (measured > 0) {
    StepMeasurement measurement(compiled, signatures, std::move(wanted));
    SLUICE_RETURN_IF_ERROR(measurement.measure(machine.threads, on_progress));
    for (const auto& [signature, measured_op] : measurement.measurements()) cache.put_op(signature, measured_op);
    if (const Status saved = cache.save(); !saved.ok()) spdlog::warn(saved.error().message);
  }
  Profile profile = profile_from(cache, graph, machine, signatures);
  profile.measured_ops = measured;
  return profile;
}

}  // namespace sluice

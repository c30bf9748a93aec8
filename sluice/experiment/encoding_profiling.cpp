#include "sluice/experiment/encoding_profiling.hpp"

#include <spdlog/spdlog.h>

#include "sluice/measure/encoding_probe.hpp"
#include "sluice/memory/on_host.hpp"

namespace sluice::experiment {
namespace {

constexpr float kLearningRateOfProfile = 1e-3F;  // small, so that a model without warm-up stays finite for a few steps

// In a workload of its own: the caller's goes on as if nothing had been trained.
Result<std::vector<Bytes>> count_encoded_bytes(const train::Workload& workload, const memory::Machine& machine,
                                               const profile::Profile& profile, const train::FastBudget& fast,
                                               train::SessionOptions options) {
  SLUICE_ASSIGN(train::Workload trained, train::build_workload(workload.options));
  const std::string_view planner = fast.size ? std::string_view("on-demand") : planners::kBaselinePlanner;
  SLUICE_ASSIGN(const plan::Plan plan,
                train::plan_workload(trained, machine, profile, planner, {fast.size, true, true}));
  options.ranks = nullptr;
  options.alone = true;
  SLUICE_ASSIGN(const auto session, train::Session::create(trained, machine, plan, options));
  measure::EncodingRecorder recorder(trained.graph());
  for (std::int64_t step = 0; step < kEncodingSteps; ++step) {
    session->executor().observe(step + 1 == kEncodingSteps ? &recorder : nullptr);
    SLUICE_RETURN_IF_ERROR(session->run_step(step, kLearningRateOfProfile));
  }
  session->executor().observe(nullptr);
  return recorder.encoded_bytes();
}

}  // namespace

Status add_encodings(const train::Workload& workload, const memory::Machine& machine, const train::FastBudget& fast,
                     const train::SessionOptions& session, profile::ProfileCache& cache, profile::Profile& profile) {
  if (profile.encodings != nullptr) return {};
  SLUICE_RETURN_IF_ERROR(memory::check_on_host(machine, "moving tensors encoded"));
  const std::string key = workload.graph().fingerprint();
  const profile::EncodingFigures* const known = cache.find_encodings(key);
  if (known != nullptr &&
      known->encoded_bytes.size() == workload.graph().tensors().size()) {  // the file may be damaged
    profile.encodings = std::make_shared<profile::EncodingFigures>(*known);
    return {};
  }
  profile::EncodingFigures figures;
  SLUICE_ASSIGN(figures.zero_value, measure::measure_coder(memory::Encoding::kZeroValue));
  SLUICE_ASSIGN(figures.narrow, measure::measure_coder(memory::Encoding::kNarrow));
  SLUICE_ASSIGN(figures.encoded_bytes, count_encoded_bytes(workload, machine, profile, fast, session));
  cache.put_encodings(key, figures);
  if (const Status saved = cache.save(); !saved.ok()) spdlog::warn(saved.error().message);
  profile.encodings = std::make_shared<profile::EncodingFigures>(std::move(figures));
  return {};
}

}  // namespace sluice::experiment

#include "sluice/experiment/encoding_profiling.hpp"

#include <spdlog/spdlog.h>

#include "sluice/measure/coder_probe.hpp"
#include "sluice/measure/encoding_recorder.hpp"
#include "sluice/memory/on_host.hpp"

namespace sluice {
namespace {

constexpr float kLearningRateOfProfile = 1e-3F;  // small, so that a model without warm-up stays finite for a few steps

// In a workload of its own: the caller's goes on as if nothing had been trained.
Result<std::vector<Bytes>> count_encoded_bytes(const Workload& workload, const Machine& machine, const Profile& profile,
                                               const FastBudget& fast, SessionOptions options) {
  SLUICE_ASSIGN(Workload trained, build_workload(workload.options));
  const std::string_view planner = fast.size ? std::string_view("on-demand") : kBaselinePlanner;
  SLUICE_ASSIGN(const Plan plan, plan_workload(trained, machine, profile, planner, {fast.size, true, true}));
  options.ranks = nullptr;
  options.alone = true;
  SLUICE_ASSIGN(const auto session, Session::create(trained, machine, plan, options));
  EncodingRecorder recorder(trained.graph());
  for (std::int64_t step = 0; step < kEncodingSteps; ++step) {
    session->executor().observe(step + 1 == kEncodingSteps ? &recorder : nullptr);
    SLUICE_RETURN_IF_ERROR(session->run_step(step, kLearningRateOfProfile));
  }
  session->executor().observe(nullptr);
  return recorder.encoded_bytes();
}

}  // namespace

Status add_encodings(const Workload& workload, const Machine& machine, const FastBudget& fast,
                     const SessionOptions& session, ProfileCache& cache, Profile& profile) {
  if (profile.encodings != nullptr) return {};
  SLUICE_RETURN_IF_ERROR(check_on_host(machine, "moving tensors encoded"));
  const std::string key = workload.graph().fingerprint();
  const EncodingFigures* const known = cache.find_encodings(key);
  if (known != nullptr &&
      known->encoded_bytes.size() == workload.graph().tensors().size()) {  // the file may be damaged
    profile.encodings = std::make_shared<EncodingFigures>(*known);
    return {};
  }
  EncodingFigures figures;
  SLUICE_ASSIGN(figures.zero_value, measure_coder(Encoding::kZeroValue));
  SLUICE_ASSIGN(figures.narrow, measure_coder(Encoding::kNarrow));
  SLUICE_ASSIGN(figures.encoded_bytes, count_encoded_bytes(workload, machine, profile, fast, session));
  cache.put_encodings(key, figures);
  if (const Status saved = cache.save(); !saved.ok()) spdlog::warn(saved.error().message);
  profile.encodings = std::make_shared<EncodingFigures>(std::move(figures));
  return {};
}

}  // namespace sluice

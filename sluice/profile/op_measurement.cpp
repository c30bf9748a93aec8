#include "sluice/profile/op_measurement.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sluice/base/as_index.hpp"
#include "sluice/base/json_reader.hpp"

namespace sluice::profile {
namespace {

constexpr Seconds kLeastTime = 1e-9;  // what a coarse clock calls nothing
constexpr const char* kInSteps = "in steps";
constexpr const char* kAlone = "alone";

}  // namespace

Timing summarize(std::vector<Seconds> samples) {
  SLUICE_CHECK(!samples.empty(), "samples to summarize");
  for (Seconds& sample : samples) sample = std::max(sample, kLeastTime);
  std::sort(samples.begin(), samples.end());
  return {.median = samples[samples.size() / 2],
          .min = samples.front(),
          .max = samples.back(),
          .samples = count_of(samples)};
}

void to_json(nlohmann::json& json, const Timing& timing) {
  json = {{"median_seconds", timing.median},
          {"min_seconds", timing.min},
          {"max_seconds", timing.max},
          {"samples", timing.samples}};
}

Status read_json(const JsonReader& reader, Timing& timing) {
  SLUICE_RETURN_IF_ERROR(reader.read_figure("median_seconds", timing.median));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("min_seconds", timing.min));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("max_seconds", timing.max));
  SLUICE_RETURN_IF_ERROR(reader.read("samples", timing.samples));
  if (timing == Timing()) return {};  // not measured
  const bool sound = 0 < timing.min && timing.min <= timing.median && timing.median <= timing.max && timing.samples > 0;
  return sound ? Status() : Status(reader.error("not the times of any op"));
}

void to_json(nlohmann::json& json, const OpMeasurement& op) {
  json = {{"warm", op.warm},
          {"cold", op.cold},
          {"measured", op.in_steps ? kInSteps : kAlone},
          {"flops", op.work.flops},
          {"bytes", op.work.bytes}};
}

Status read_json(const JsonReader& reader, OpMeasurement& op) {
  SLUICE_RETURN_IF_ERROR(reader.read("warm", op.warm));
  SLUICE_RETURN_IF_ERROR(reader.read("cold", op.cold));
  if (op.warm.samples == 0) return reader.error("warm", "an op that was not measured");
  if (!reader.has("measured")) return {};  // older caches: alone, and nothing of its work
  std::string measured;
  SLUICE_RETURN_IF_ERROR(reader.read("measured", measured));
  op.in_steps = measured == kInSteps;
  SLUICE_RETURN_IF_ERROR(reader.read_figure("flops", op.work.flops));
  return reader.read_figure("bytes", op.work.bytes);
}

void to_json(nlohmann::json& json, const ConfigurationTime& configuration) {
  nlohmann::json slow = nlohmann::json::array();
  for (std::size_t operand = 0; operand < kMostOperands; ++operand) {
    if ((configuration.slow >> operand & 1) != 0) slow.push_back(operand);
  }
  json = configuration.timing;
  json["slow_operands"] = slow;
}

Status read_json(const JsonReader& reader, ConfigurationTime& configuration) {
  std::vector<std::size_t> slow;
  SLUICE_RETURN_IF_ERROR(reader.read(configuration.timing));
  if (configuration.timing.samples == 0) return reader.error("samples", "none");
  SLUICE_RETURN_IF_ERROR(reader.read("slow_operands", slow));
  configuration.slow = 0;
  for (const std::size_t operand : slow) {
    if (operand >= kMostOperands) return reader.error("slow_operands", "an operand that no op has");
    configuration.slow |= OperandSet{1} << operand;
  }
  return {};
}

bool begin_in_fast_memory(const OpConfigurations& configurations) {
  return !configurations.empty() && configurations.front().slow == 0;
}

}  // namespace sluice::profile

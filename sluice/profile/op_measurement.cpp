#include "sluice/profile/op_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice {

Timing summarize(std::vector<Seconds> samples) {
  SLUICE_CHECK(!samples.empty(), "samples to summarize");
  std::sort(samples.begin(), samples.end());
  return {.median = samples[samples.size() / 2],
          .min = samples.front(),
          .max = samples.back(),
          .samples = static_cast<int>(samples.size())};
}

void check_figure(double figure) {
  if (!std::isfinite(figure) || figure < 0) throw std::invalid_argument("a negative or infinite figure");
}

void check_configurations(const OpConfigurations& configurations) {
  if (configurations.empty() || configurations.front().slow != 0) {
    throw std::invalid_argument("times by placement without the one that is all in fast memory");
  }
}

void to_json(nlohmann::json& json, const Timing& timing) {
  json = {{"median_seconds", timing.median},
          {"min_seconds", timing.min},
          {"max_seconds", timing.max},
          {"samples", timing.samples}};
}

void from_json(const nlohmann::json& json, Timing& timing) {
  json.at("median_seconds").get_to(timing.median);
  json.at("min_seconds").get_to(timing.min);
  json.at("max_seconds").get_to(timing.max);
  json.at("samples").get_to(timing.samples);
  for (const Seconds seconds : {timing.median, timing.min, timing.max}) check_figure(seconds);
}

void to_json(nlohmann::json& json, const OpMeasurement& op) { json = {{"warm", op.warm}, {"cold", op.cold}}; }

void from_json(const nlohmann::json& json, OpMeasurement& op) {
  json.at("warm").get_to(op.warm);
  json.at("cold").get_to(op.cold);
}

void to_json(nlohmann::json& json, const ConfigurationTime& configuration) {
  nlohmann::json slow = nlohmann::json::array();
  for (std::size_t operand = 0; operand < kMostOperands; ++operand) {
    if ((configuration.slow >> operand & 1) != 0) slow.push_back(operand);
  }
  json = configuration.timing;
  json["slow_operands"] = slow;
  json["injected_seconds"] = configuration.injected;
}

void from_json(const nlohmann::json& json, ConfigurationTime& configuration) {
  json.get_to(configuration.timing);
  json.at("injected_seconds").get_to(configuration.injected);
  check_figure(configuration.injected);
  configuration.slow = 0;
  for (const nlohmann::json& operand : json.at("slow_operands")) {
    const auto index = operand.get<std::size_t>();
    if (index >= kMostOperands) throw std::invalid_argument("an operand that no op has");
    configuration.slow |= OperandSet{1} << index;
  }
}

}  // namespace sluice

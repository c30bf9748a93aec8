// What was measured of one op, with its form in JSON: the same in the profile cache and in saved profiles.
//
// A warm time is measured after the ops that precede it in the step, so its inputs may still be in a cache. A cold time
// is measured with no byte of any operand in a cache. The sum of warm times is the time of a step. The difference says
// how much of an op's time is waiting for memory, whichever memory that is.
//
// Warm times come from ops that ran alone (measure/profiler.hpp) or from steps of a training
// (sim/times_in_steps.hpp); cold ones from ops that ran alone, where somebody asked for them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice {
class JsonReader;
}  // namespace sluice

namespace sluice::profile {

struct Timing {
  Seconds median = 0;
  Seconds min = 0;
  Seconds max = 0;
  int samples = 0;
  bool operator==(const Timing&) const = default;
};

Timing summarize(std::vector<Seconds> samples);  // at least one

inline constexpr int kSoundSamples = 3;

// How much an op does: what tells its time from those of others of its kind (op_estimate.hpp).
struct OpWork {
  double flops = 0;  // as graph/summary.hpp counts them
  double bytes = 0;  // of its operands; 0: not known, as in older caches
  bool operator==(const OpWork&) const = default;
};

struct OpMeasurement {
  Timing warm;
  Timing cold = {};       // no samples: nobody asked
  bool in_steps = false;  // warm is of steps of a training
  OpWork work = {};

  bool sound() const { return warm.samples >= kSoundSamples; }  // else measured in haste, to estimate others by
  bool operator==(const OpMeasurement&) const = default;
};

// Some of an op's distinct operands: bit i stands for distinct_operands(op)[i] (liveness.hpp).
using OperandSet = std::uint64_t;
inline constexpr std::size_t kMostOperands = 64;  // an op with more is not timed by placement

// A configuration of AutoTM (§3.5): which operands lay in a slow tier, and how long the op took, warm.
struct ConfigurationTime {
  OperandSet slow = 0;
  Timing timing;  // without delays: those of an emulated tier are computed (memory_time.hpp)
  bool operator==(const ConfigurationTime&) const = default;
};

// The configurations of one op and one slow tier, measured in turn with each other. The one with nothing in the slow
// tier is the first.
using OpConfigurations = std::vector<ConfigurationTime>;

void to_json(nlohmann::json& json, const Timing& timing);
void to_json(nlohmann::json& json, const OpMeasurement& op);
void to_json(nlohmann::json& json, const ConfigurationTime& configuration);

// kBadInput for anything that cannot be a measurement, such as a negative time.
Status read_json(const JsonReader& reader, Timing& timing);
Status read_json(const JsonReader& reader, OpMeasurement& op);
Status read_json(const JsonReader& reader, ConfigurationTime& configuration);

// What must hold of configurations that were read: the one with nothing in the slow tier is the first.
bool begin_in_fast_memory(const OpConfigurations& configurations);

}  // namespace sluice::profile

// What encoding the tensors of one graph would do, measured in a training step and on this machine's processor; with
// its form in JSON: the same in the profile cache and in saved profiles.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

class JsonReader;

struct EncodingFigures {
  // By TensorId: what a transfer moves of the tensor when it is encoded (kZeroValue), in whole blocks; 0: not measured.
  std::vector<Bytes> encoded_bytes;
  BytesPerSecond encode = 0;  // bytes of the tensor, by one thread
  BytesPerSecond decode = 0;
  bool operator==(const EncodingFigures&) const = default;
};

void to_json(nlohmann::json& json, const EncodingFigures& figures);

// kBadInput for what cannot be a measurement, such as negative bytes.
Status read_json(const JsonReader& reader, EncodingFigures& figures);

}  // namespace sluice

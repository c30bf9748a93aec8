// What encoding the tensors of one graph would do, measured in a training step and on this machine's processor; with
// its form in JSON: the same in the profile cache and in saved profiles.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice {
class JsonReader;
}  // namespace sluice

namespace sluice::profile {

// Of one encoding: bytes of the tensor as it is, by one thread; 0: not measured.
struct CoderSpeed {
  BytesPerSecond encode = 0;
  BytesPerSecond decode = 0;
  bool operator==(const CoderSpeed&) const = default;
};

struct EncodingFigures {
  // By TensorId: what a transfer moves of the tensor when it is encoded, in whole blocks; 0: not measured.
  std::vector<Bytes> encoded_bytes;
  CoderSpeed zero_value;  // what floats lie in
  CoderSpeed narrow;      // what integers do

  const CoderSpeed& speed(const graph::Tensor& tensor) const {
    return tensor.dtype == graph::DType::kF32 || graph::is_half(tensor.dtype) ? zero_value : narrow;
  }
  bool operator==(const EncodingFigures&) const = default;
};

void to_json(nlohmann::json& json, const EncodingFigures& figures);

// kBadInput for what cannot be a measurement, such as negative bytes.
Status read_json(const JsonReader& reader, EncodingFigures& figures);

}  // namespace sluice::profile

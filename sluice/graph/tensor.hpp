// Tensors: what a step computes on. A tensor is a *storage*: an op that updates one in place names the same tensor
// among its inputs and its outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/base/units.hpp"

namespace sluice {

using TensorId = std::int32_t;
using Shape = std::vector<std::int64_t>;

enum class DType { kF32, kI32, kU8 };

enum class Role {
  kInput,               // images and labels: written by the step's input op
  kParameter,           // trained, persistent
  kBuffer,              // persistent but not trained: running batch-norm statistics
  kOptimizerState,      // persistent: momentum
  kGradient,            // of a parameter
  kActivation,          // made by a forward op
  kActivationGradient,  // made by a backward op
  kWorkspace,           // scratch of one op
  kOutput,              // read by the caller after the step: the loss
};

// Persistent tensors outlive the step: a plan must leave each where it found it.
constexpr bool is_persistent(Role role) {
  return role == Role::kParameter || role == Role::kBuffer || role == Role::kOptimizerState;
}

// How a persistent tensor starts. Values depend only on (seed, stream, element index) in the *plain* layout, so a
// slice of a parameter starts with the same values as the same part of the whole.
struct Init {
  enum class Kind { kZero, kNormal, kScaleShift, kRunningStats } kind = Kind::kZero;
  float stddev = 0;                // kNormal
  std::uint64_t stream = 0;        // kNormal: stream_of(name of the whole parameter)
  std::int64_t first_element = 0;  // kNormal: index of this tensor's element 0 within the whole parameter
};
// kScaleShift: shape [2, C], ones then zeros. kRunningStats: shape [2, C], mean zeros then variance ones.

struct Tensor {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Role role = Role::kActivation;
  Bytes bytes = 0;               // in the executable layout; may exceed elements x dtype size when a layout pads
  std::string layout = "plain";  // row-major in `shape`, or the backend's own name for its layout
  Init init;
};

constexpr Bytes size_of(DType dtype) { return dtype == DType::kU8 ? 1 : 4; }
std::int64_t element_count(const Shape& shape);
std::string to_string(const Shape& shape);  // "[16, 3, 224, 224]"

}  // namespace sluice

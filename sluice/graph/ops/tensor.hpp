// Tensors: what a step computes on. A tensor is a *storage*: an op that updates one in place names the same tensor
// among its inputs and its outputs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/base/units.hpp"

namespace sluice::graph {

using TensorId = std::int32_t;
using Shape = std::vector<std::int64_t>;

enum class DType { kF32, kI32, kU8, kBF16, kF16 };

enum class Role {
  kInput,               // images, tokens, labels: written by the step's input op
  kParameter,           // trained, persistent
  kBuffer,              // persistent but not trained: running batch-norm statistics
  kOptimizerState,      // persistent: momentum, Adam's moments
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

// What an input tensor is to be filled with. Integers are in [0, Tensor::bound).
enum class Content {
  kNone,
  kImages,        // fp32 [N, C, H, W]
  kLabels,        // i32 [N]: the images' classes
  kTokens,        // i32 [B, S]
  kNextTokens,    // i32 [B, S]: what follows each token
  kMaskedTokens,  // i32 [B, S]: tokens, some replaced by a mask token (bound - 1)
  kHiddenTokens,  // i32 [B, S]: what the mask hides, -1 elsewhere
  kSegments,      // i32 [B, S]: 0 or 1: first or second sentence
  kNoise,         // fp32, standard normal
  kNumbers,       // fp32 of any shape that only the caller has
  kIntegers,      // i32, the same
};
constexpr bool is_float(Content content) {
  return content == Content::kImages || content == Content::kNoise || content == Content::kNumbers;
}

// How a persistent tensor starts. Values depend only on (seed, stream, element index) in the *plain* layout, so a
// slice of a parameter starts with the same values as the same part of the whole.
struct Init {
  enum class Kind { kZero, kNormal, kUniform, kScaleShift, kRunningStats, kGiven, kConstant } kind = Kind::kZero;
  float stddev = 0;                // kNormal; kUniform: in [-stddev, stddev); kConstant: the value
  std::uint64_t stream = 0;        // kNormal, kUniform: stream_of(name of the whole parameter)
  std::int64_t first_element = 0;  // index of this tensor's element 0 within the whole parameter
  std::string source;              // kGiven: the whole parameter's name among the values that came with the model
};
// kScaleShift: shape [2, C], ones then zeros. kRunningStats: shape [2, C], mean zeros then variance ones.

// Of a tensor that is some rows of a larger one: the larger one's name, and which rows. Names show it ("w[64:128]"), but
// nobody reads it from them: a model may call a whole tensor so.
struct TensorPart {
  std::string whole;  // empty: the tensor is whole
  Interval<std::int64_t> rows = {};
  bool operator==(const TensorPart&) const = default;
};

struct Tensor {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Role role = Role::kActivation;
  Bytes bytes = 0;               // in the executable layout; may exceed elements x dtype size when a layout pads
  std::string layout = "plain";  // row-major in `shape`, or the backend's own name for its layout
  Init init;
  Content content = Content::kNone;  // role kInput
  std::int64_t bound = 0;            // integer contents: one above the largest value
  Shape whole = {};  // not empty: every rank has a part of a tensor of this shape (partition_updates.hpp)
  TensorPart part = {};
  // What persists: the model's name of the parameter that it is a part of, or that the optimizer keeps it for (empty: its
  // own), and as what.
  std::string parameter = {};
  std::string slot = {};  // empty: the parameter itself; one of the optimizer's, kMaster or kInFlight
};

constexpr bool is_half(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }
constexpr Bytes size_of(DType dtype) { return dtype == DType::kU8 ? 1 : is_half(dtype) ? 2 : 4; }
std::int64_t element_count(const Shape& shape);
std::string to_string(const Shape& shape);  // "[16, 3, 224, 224]"

inline constexpr std::string_view kMaster = "master";       // fp32, of a parameter in 16 bits (half_parameters.hpp)
inline constexpr std::string_view kInFlight = "in_flight";  // of the step before (delay_updates.hpp)

// Without the rows: "w" of "w[0:64]".
const std::string& whole_name(const Tensor& tensor);
// Which parameter of the model a persistent tensor belongs to.
const std::string& parameter_name(const Tensor& tensor);
// Makes the tensor some rows of what it was, by name: "w" becomes "w[0:64]". Its shape is the caller's to change.
void cut_rows(Tensor& tensor, const Interval<std::int64_t>& rows);
// Calls the tensor `whole`, or the rows of it that `source` is of its own whole: "w.master[0:64]" beside "w[0:64]".
void name_beside(Tensor& tensor, const std::string& whole, const Tensor& source);
// Of a tensor that is called as `source` and then `suffix`: "x[0:16].cast" is a part of "x.cast".
TensorPart part_beside(const Tensor& source, std::string_view suffix);

}  // namespace sluice::graph

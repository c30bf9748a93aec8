#include "sluice/graph/ops/op.hpp"

#include <array>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {

// By enumerator value; the assertions below catch a table that misses its last entries.
constexpr std::array kPhaseNames = std::to_array<std::string_view>({"forward", "backward", "update"});
constexpr std::array kRoleNames = std::to_array<std::string_view>({
    "input",
    "parameter",
    "buffer",
    "optimizer_state",
    "gradient",
    "activation",
    "activation_gradient",
    "workspace",
    "output",
});
constexpr std::array kDTypeNames = std::to_array<std::string_view>({"f32", "i32", "u8", "bf16", "f16"});
constexpr std::array kUnaryNames = std::to_array<std::string_view>({
    "linear",    "leaky_relu", "clip", "elu",   "sigmoid", "tanh",  "silu",   "hard_sigmoid", "hard_swish", "gelu",
    "gelu_tanh", "erf",        "exp",  "log",   "sqrt",    "abs",   "power",  "softplus",     "mish",       "softsign",
    "shrink",    "threshold",  "sin",  "cos",   "tan",     "asin",  "acos",   "atan",         "sinh",       "cosh",
    "asinh",     "atanh",      "sign", "floor", "ceil",    "round", "is_nan", "is_infinite",
});

template <typename Enum>
constexpr std::size_t index_of(Enum value) {
  return as_index(value);
}
static_assert(kPhaseNames.size() == index_of(Phase::kUpdate) + 1);
static_assert(kRoleNames.size() == index_of(Role::kOutput) + 1);
static_assert(kDTypeNames.size() == index_of(DType::kF16) + 1);
static_assert(kUnaryNames.size() == index_of(kLastUnaryFunction) + 1);

}  // namespace

std::string_view to_string(Phase phase) { return kPhaseNames.at(index_of(phase)); }
std::string_view to_string(Role role) { return kRoleNames.at(index_of(role)); }
std::string_view to_string(UnaryFunction function) { return kUnaryNames.at(index_of(function)); }
std::string_view to_string(DType dtype) { return kDTypeNames.at(index_of(dtype)); }

}  // namespace sluice::graph

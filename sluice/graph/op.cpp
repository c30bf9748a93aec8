#include "sluice/graph/op.hpp"

#include <array>

namespace sluice {
namespace {

// By enumerator value; the assertions below catch a table that misses its last entries.
constexpr std::array kOpKindNames = std::to_array<std::string_view>({
    "input",
    "conv2d",
    "conv2d_backward_data",
    "conv2d_backward_weights",
    "conv_transpose2d",
    "conv_transpose2d_backward_data",
    "conv_transpose2d_backward_weights",
    "batch_norm",
    "batch_norm_apply",
    "batch_norm_backward",
    "batch_norm_statistics",
    "batch_norm_merge",
    "batch_norm_backward_sums",
    "batch_norm_backward_apply",
    "layer_norm",
    "layer_norm_backward",
    "local_response_norm",
    "local_response_norm_backward",
    "relu",
    "relu_backward",
    "unary",
    "unary_backward",
    "add",
    "binary",
    "reduce",
    "broadcast",
    "reshape",
    "transpose",
    "concat",
    "slice",
    "pad",
    "max_pool",
    "max_pool_backward",
    "avg_pool",
    "avg_pool_backward",
    "dense",
    "dense_backward_data",
    "dense_backward_weights",
    "matmul",
    "embedding",
    "embedding_backward",
    "lstm_cell",
    "lstm_cell_backward",
    "softmax",
    "softmax_backward",
    "dropout",
    "softmax_cross_entropy",
    "softmax_cross_entropy_backward",
    "sigmoid_cross_entropy",
    "sigmoid_cross_entropy_backward",
    "cast",
    "reorder",
    "slice_batch",
    "place_batch",
    "sgd_update",
    "adam_update",
});
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
constexpr std::array kDTypeNames = std::to_array<std::string_view>({"f32", "i32", "u8", "bf16"});
constexpr std::array kUnaryNames = std::to_array<std::string_view>({
    "linear",
    "leaky_relu",
    "clip",
    "elu",
    "sigmoid",
    "tanh",
    "silu",
    "hard_sigmoid",
    "hard_swish",
    "gelu",
    "gelu_tanh",
    "erf",
    "exp",
    "log",
    "sqrt",
    "abs",
    "power",
});

template <typename Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}
static_assert(kOpKindNames.size() == index_of(OpKind::kAdamUpdate) + 1);
static_assert(kPhaseNames.size() == index_of(Phase::kUpdate) + 1);
static_assert(kRoleNames.size() == index_of(Role::kOutput) + 1);
static_assert(kDTypeNames.size() == index_of(DType::kBF16) + 1);
static_assert(kUnaryNames.size() == index_of(UnaryFunction::kPower) + 1);

}  // namespace

std::string_view to_string(OpKind kind) { return kOpKindNames.at(index_of(kind)); }
std::string_view to_string(Phase phase) { return kPhaseNames.at(index_of(phase)); }
std::string_view to_string(Role role) { return kRoleNames.at(index_of(role)); }
std::string_view to_string(UnaryFunction function) { return kUnaryNames.at(index_of(function)); }
std::string_view to_string(DType dtype) { return kDTypeNames.at(index_of(dtype)); }

}  // namespace sluice

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
    "batch_norm",
    "batch_norm_backward",
    "relu",
    "relu_backward",
    "add",
    "max_pool",
    "max_pool_backward",
    "avg_pool",
    "avg_pool_backward",
    "dense",
    "dense_backward_data",
    "dense_backward_weights",
    "softmax_cross_entropy",
    "softmax_cross_entropy_backward",
    "reorder",
    "slice_batch",
    "place_batch",
    "sgd_update",
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
constexpr std::array kDTypeNames = std::to_array<std::string_view>({"f32", "i32", "u8"});

template <typename Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}
static_assert(kOpKindNames.size() == index_of(OpKind::kSgdUpdate) + 1);
static_assert(kPhaseNames.size() == index_of(Phase::kUpdate) + 1);
static_assert(kRoleNames.size() == index_of(Role::kOutput) + 1);
static_assert(kDTypeNames.size() == index_of(DType::kU8) + 1);

}  // namespace

std::string_view to_string(OpKind kind) { return kOpKindNames.at(index_of(kind)); }
std::string_view to_string(Phase phase) { return kPhaseNames.at(index_of(phase)); }
std::string_view to_string(Role role) { return kRoleNames.at(index_of(role)); }
std::string_view to_string(DType dtype) { return kDTypeNames.at(index_of(dtype)); }

}  // namespace sluice

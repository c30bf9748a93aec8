#include "sluice/graph/ops/attributes.hpp"

#include <fmt/format.h>

#include "sluice/base/check.hpp"

namespace sluice::graph {
namespace {

template <typename Family>
concept Fusing = requires(Family family) {
  family.activation;
};

template <typename Family>
concept Axial = requires(Family family) {
  family.axis;
};

}  // namespace

void fail_family(const Attributes& attributes) {
  fail_check(__FILE__, __LINE__, "attributes are of the family asked for",
             fmt::format("they are of family {}", attributes.index()));
}

std::int64_t axis_of(const Attributes& attributes) {
  return std::visit(
      []<typename Family>(const Family& family) -> std::int64_t {
        if constexpr (Axial<Family>) return family.axis;
        return 0;
      },
      attributes);
}

Activation fused_activation(const Attributes& attributes) {
  return std::visit(
      []<typename Family>(const Family& family) {
        if constexpr (Fusing<Family>) return family.activation;
        return Activation::kNone;
      },
      attributes);
}

void fuse_activation(Attributes& attributes, Activation activation) {
  std::visit(
      [&]<typename Family>(Family& family) {
        if constexpr (Fusing<Family>) {
          family.activation = activation;
        } else {
          SLUICE_CHECK(activation == Activation::kNone, "these ops apply no function last");
        }
      },
      attributes);
}

}  // namespace sluice::graph

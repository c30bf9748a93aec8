#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// An id or an axis, which are signed, as the index of a vector, which is not. Where a whole vector is indexed by one kind
// of id, IdVector does this by itself.
constexpr std::size_t as_index(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace sluice

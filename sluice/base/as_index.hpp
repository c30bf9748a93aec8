// Turns an id or an axis, which is signed, into the index of a vector, which is not. IdVector does this by itself for a
// vector that is indexed by one kind of id.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

constexpr std::size_t as_index(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace sluice

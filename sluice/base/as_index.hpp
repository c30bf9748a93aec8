// Between ids, which are signed, and the positions and sizes of vectors, which are not. IdVector does this by itself for a
// vector that is indexed by one kind of id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice {

// The position of an id, of an axis, of a count that is not negative.
constexpr std::size_t as_index(std::int64_t number) { return static_cast<std::size_t>(number); }

// The row of a table that has one for each value.
template <typename Enum>
requires std::is_enum_v<Enum>
constexpr std::size_t as_index(Enum value) { return static_cast<std::size_t>(value); }

// The id that stands at a position.
template <typename Id>
constexpr Id as_id(std::size_t position) {
  return static_cast<Id>(position);
}

// Where in a vector the element of a position is; one past the last for its size.
constexpr auto iterator_at(auto& all, std::size_t position) {
  return all.begin() + static_cast<std::ptrdiff_t>(position);
}

constexpr int count_of(const auto& all) { return static_cast<int>(all.size()); }

}  // namespace sluice

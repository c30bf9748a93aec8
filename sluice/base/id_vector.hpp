// A vector indexed by the ids of what its elements belong to: IdVector<TensorId, Bytes> is "bytes by TensorId".
//
// Ids are signed, a vector's indices are not; this is the one place that casts. It is a std::vector in everything else,
// and goes where one is asked for. Debug builds and those with the address sanitizer check every index
// (std::logic_error); releases do not.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice {

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
inline constexpr bool kChecksIndices = false;
#else
inline constexpr bool kChecksIndices = true;
#endif

template <std::signed_integral Id, typename T>
class IdVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  IdVector(Base elements) : Base(std::move(elements)) {}  // NOLINT(google-explicit-constructor)

  // By id; by std::size_t in a loop over positions.
  typename Base::reference operator[](Id id) { return Base::operator[](position(id)); }
  typename Base::const_reference operator[](Id id) const { return Base::operator[](position(id)); }
  typename Base::reference operator[](std::size_t index) { return Base::operator[](checked(index)); }
  typename Base::const_reference operator[](std::size_t index) const { return Base::operator[](checked(index)); }

  // Whether there is an element of this id: false for those below 0.
  bool holds(Id id) const { return id >= 0 && as_index(id) < this->size(); }

 private:
  std::size_t position(Id id) const { return checked(as_index(id)); }  // below 0: beyond any size
  std::size_t checked(std::size_t index) const {
    if constexpr (kChecksIndices) {
      SLUICE_CHECK(index < this->size(), "index " + std::to_string(index) + " of " + std::to_string(this->size()));
    }
    return index;
  }
};

}  // namespace sluice

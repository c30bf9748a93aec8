// The elements that fill the last blocks of a blocked layout up. oneDNN reads them as zeros and leaves zeros in what it
// writes; kernels of others need not touch them. Version 2 clears them whenever memory is pointed at bytes; version 3 does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sluice/kernels/onednn/interface/blocking.hpp"

namespace sluice::kernels {

class Padding {
 public:
  Padding() = default;
  explicit Padding(const Layout& layout);

  bool empty() const { return filled_.empty(); }

  // Makes it zeros in a tensor of that layout. Costs a write for each of its elements.
  void clear(void* tensor) const;

 private:
  struct Dimension {
    std::int64_t extent = 0;            // the tensor's; the rest of the offsets is padding
    std::vector<std::int64_t> offsets;  // in elements, by index: those of all dimensions add up
  };
  template <typename T>
  void clear_elements(T* tensor, std::size_t filled) const;

  std::vector<Dimension> dimensions_;
  std::vector<std::size_t> filled_;  // dimensions that have padding
  std::size_t element_bytes_ = 0;
};

}  // namespace sluice::kernels

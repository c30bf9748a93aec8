// One contiguous range of memory of exactly the bytes asked for: a tier's arena.
//
// Mapped once and kept: a fresh 4 KiB page costs 0.1 us to touch, eight times as much per byte as a 2 MiB page, and a
// step that gave pages back would have to pay that again. The start is 2 MiB-aligned and the kernel is asked for huge
// pages; where the system forbids them, notes() says so. Nothing is touched at construction, so resident size grows
// with use. Move-only; the mapping itself is thread-safe; the plan says who uses which of its bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

class Arena {
 public:
  Arena() = default;  // of no bytes

  // `bytes` is rounded down to kTensorAlignment. Fails with kOutOfSpace when the kernel refuses the mapping; `name` is
  // the tier's, for messages.
  static Result<Arena> map(Bytes bytes, const std::string& name);

  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  const std::vector<std::string>& notes() const { return notes_; }

  // Touches every page, `threads` at once, so that the first step does not pay for it (0.05 s per GiB in huge pages).
  void prefault(int threads) const;

 private:
  Arena(std::byte* data, Bytes bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace sluice

// One contiguous range of memory of exactly the bytes asked for: a tier's arena.
//
// Mapped once and kept: a fresh 4 KiB page costs 0.1 us to touch, eight times as much per byte as a 2 MiB page, and
// whoever gave pages back would have to pay that again. The start is 2 MiB-aligned and the kernel is asked for huge
// pages; where the system forbids them, notes() says so. Nothing is touched at construction, so resident size grows
// with use. Move-only; the mapping itself is thread-safe; whoever has it says who uses which of its bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/stitch.hpp"

namespace sluice::memory {

class Arena {
 public:
  Arena() = default;  // of no bytes

  // `bytes` is rounded down to kBlockAlignment. Fails with kOutOfSpace when the kernel refuses the mapping; `name` is
  // the tier's, for messages.
  static Result<Arena> map(Bytes bytes, const std::string& name);

  // Memory of `bytes` bytes, and behind it `stitches` of it (stitch.hpp): bytes() is then where the last one ends. The
  // pages are shared memory, so that they can be mapped twice, and touched here: 0.3 s per GiB, or 3 s where the system
  // gives shared memory no 2 MiB pages of its own accord and they are put together here. Huge pages are given up for the
  // whole arena where touching it for 0.6 s shows that the host has no room for them beside their pieces, as
  // hosts that keep page tables of their own for a guest; that touches all of it once more.
  static Result<Arena> map_stitched(Bytes bytes, std::span<const Stitch> stitches, const std::string& name);

  // Memory that somebody else has mapped, perhaps of a device: `release` gives it back. It is never touched here.
  // `notes`: fallbacks taken.
  using Release = void (*)(std::byte* data, Bytes bytes);
  static Arena adopt(std::byte* data, Bytes bytes, Release release, std::vector<std::string> notes = {});

  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  const std::vector<std::string>& notes() const { return notes_; }

  // Touches these pages, which keep what they hold.
  void touch(Interval<Bytes> pages) const;

  // Touches every page, `threads` at once, so that the first use does not pay for it (0.05 s per GiB in huge pages).
  // Adopted memory is there already.
  void prefault(int threads) const;

 private:
  Arena(std::byte* data, Bytes bytes) : data_(data), bytes_(bytes) {}
  void give_back();

  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  Release release_ = nullptr;  // of adopted memory
  std::vector<std::string> notes_;
};

// Pages of no file that begin with a huge page; `protection` and `flags` as mmap() has them. nullptr and errno where the
// kernel refuses.
std::byte* map_aligned(Bytes bytes, int protection, int flags = 0);

// Touches shared memory and puts it together in huge pages. Whether all of it is in them now; errno says why not.
bool put_into_huge_pages(std::byte* data, Bytes bytes);

}  // namespace sluice::memory

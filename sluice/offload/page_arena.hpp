// Memory of a fixed size for what comes back, handed out in whole pages and taken back in any order.
//
// Apart from the framework's own allocator, because that one keeps what is freed: what leaves and what comes back would
// each have memory of their own there, and more than was asked for. Threads: every function from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "sluice/base/result.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/offload/free_ranges.hpp"

namespace sluice {

class PageArena {
 public:
  static Result<std::unique_ptr<PageArena>> map(Bytes bytes);
  explicit PageArena(Arena arena) : arena_(std::move(arena)), free_(arena_.bytes()) {}

  // Whole pages from the beginning of a page on; nothing where there is no room.
  std::byte* take(Bytes bytes);
  void give(std::byte* pages, Bytes bytes);  // as they were taken

 private:
  const Arena arena_;
  std::mutex mutex_;
  FreeRanges free_;
};

}  // namespace sluice

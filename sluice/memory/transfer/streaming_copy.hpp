// A memory copy that writes past the caches with the widest streaming stores the CPU has (AVX-512, AVX2 or SSE2 on
// x86-64, chosen at run time; memcpy elsewhere). For what will not be read soon it takes half the memory traffic of
// memcpy, and the compute threads keep their cache contents.
//
// And a copy that writes through the caches, for what will be read soon.
//
// `to` and `from` must be 64-byte aligned and `bytes` a multiple of 256; the ranges must not overlap. On return the
// bytes are visible to every thread that the caller synchronises with.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice::memory {

using CopyFunction = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes);
void cached_copy(std::byte* to, const std::byte* from, std::size_t bytes);

std::string_view streaming_copy_name();  // "avx512", "avx2", "sse2" or "memcpy"

}  // namespace sluice::memory

// A streaming 128-bit content hash (XXH3): fingerprints of graphs and machines, checksums, parameter hashes.
// Not cryptographic. Equal input bytes in equal order give equal text on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& add(std::span<const std::byte> bytes);
  Hasher& add(std::string_view text);  // the length is hashed too, so that "ab","c" differs from "a","bc"
  Hasher& add(std::int64_t value);

  std::string hex() const;  // 32 lower-case hexadecimal digits of everything added so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice

#include <cstring>
#include <span>
#include <vector>

#include "sluice/base/hash.hpp"
#include "sluice/train/checkpoint_file/checkpoint_file.hpp"
#include "tests/fuzz/fuzz_targets.hpp"
#include "tests/fuzz/input_file.hpp"

namespace sluice::tests {
namespace {

void read(std::string_view file) {
  Result<train::CheckpointReader> opened = train::CheckpointReader::open(input_file(file));
  if (!opened.ok() || !opened->check_version(2, "again").ok() || !opened->check_contents().ok()) return;
  SLUICE_CHECK(opened->value_bytes() >= 0 && static_cast<std::size_t>(opened->value_bytes()) <= file.size(), "values");
  opened->begin_values();
  std::vector<float> values(static_cast<std::size_t>(opened->value_bytes()) / sizeof(float));
  SLUICE_CHECK(opened->read_values(values).ok(), "they are there");
  values.resize(1 << 10);
  SLUICE_CHECK(!opened->read_values(values).ok(), "no more are");
}

// The input as header and values, in a file whose lengths and checksum are right.
std::string sound_file(std::string_view input) {
  const std::size_t header =
      input.empty() ? 0 : static_cast<unsigned char>(input.front()) * std::size_t{4} % input.size();
  const std::uint64_t length = header;
  std::string file = "SLUICECK";
  file.append(reinterpret_cast<const char*>(&length), sizeof(length));
  file += input;
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(file)));
  return file + hasher.hex();
}

}  // namespace

void fuzz_checkpoint(std::string_view input) {
  read(input);
  read(sound_file(input));
}

}  // namespace sluice::tests

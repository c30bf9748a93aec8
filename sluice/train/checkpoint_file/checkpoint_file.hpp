// The container that checkpoints are kept in, whatever they are of (train/checkpoint.hpp):
//
//   "SLUICECK"      8 bytes
//   header length   8 bytes, little-endian
//   header          JSON: an object, with "version"
//   values          fp32
//   checksum        32 hexadecimal digits over everything before
//
// Files come from anywhere: lengths are held against the file before anything is reserved. Errors while reading are
// kBadInput and name the file. Not thread-safe.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "sluice/base/atomic_file.hpp"
#include "sluice/base/hash.hpp"
#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::train {

class CheckpointReader {
 public:
  // Reads the header; what is behind it may still be anything.
  static Result<CheckpointReader> open(const std::filesystem::path& path);

  const nlohmann::json& header() const { return header_; }
  Bytes value_bytes() const { return value_bytes_; }  // between header and checksum

  Status check_version(int version, std::string_view again) const;  // `again`: how to get one that can be read
  Status check_contents();                                          // against the checksum; reads all of it

  // Values one after the other, from the first one after begin_values().
  void begin_values() { file_.seekg(values_at_); }
  Status read_values(std::span<float> values);

  Error damaged(std::string_view why) const;

 private:
  explicit CheckpointReader(std::filesystem::path path) : path_(std::move(path)) {}
  Status read_exactly(std::span<char> into);
  Status read_header();

  std::filesystem::path path_;
  std::ifstream file_;
  Bytes bytes_ = 0;
  nlohmann::json header_;
  Bytes values_at_ = 0, value_bytes_ = 0;
};

// A file under construction, which takes its name when it is finished (base/atomic_file.hpp).
class CheckpointWriter {
 public:
  static Result<CheckpointWriter> begin(const std::filesystem::path& path, const nlohmann::json& header);

  Status write(std::span<const std::byte> bytes);
  Status finish();

 private:
  explicit CheckpointWriter(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  Hasher hasher_;
};

}  // namespace sluice::train

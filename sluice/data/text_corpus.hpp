// Text files as a corpus for language models: every byte is a token, so the vocabulary is 256.
//
// A folder stands for its regular files in the order of their names, one after the other. The first nine tenths of the
// bytes are for training, the rest for validation. A sample is a window of the model's sequence length and the byte
// after it; windows follow each other without overlap.
// Errors: a path that does not exist, no text (a file with zero bytes in it is not text), too little of it for one
// window.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "sluice/data/data_file.hpp"
#include "sluice/data/sample_sets.hpp"

namespace sluice::data {

class TextCorpus : public TokenSet {
 public:
  static constexpr std::int64_t kVocabulary = 256;

  static Result<std::unique_ptr<TokenSet>> open(const std::filesystem::path& path, std::int64_t sequence, Split split);

  std::int64_t size() const override { return windows_; }
  Status read(std::int64_t sample, std::span<std::int32_t> tokens) const override;

 private:
  TextCorpus() = default;
  Status add_files(const std::filesystem::path& path);
  Status choose_windows(const std::filesystem::path& path, Split split);
  Status read_bytes(std::int64_t offset, std::span<unsigned char> into) const;

  std::vector<DataFile> files_;
  std::vector<std::int64_t> begins_;  // of each file in the whole; one more at the end
  std::int64_t sequence_ = 0;
  std::int64_t first_ = 0;  // byte where the split starts
  std::int64_t windows_ = 0;
};

}  // namespace sluice::data

#include "sluice/data/text_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::data {
namespace {

constexpr std::int64_t kLookedAt = 65536;  // bytes at the start of each file

Status check_text(const DataFile& file) {
  std::vector<unsigned char> start(as_index(std::min(file.bytes(), kLookedAt)));
  SLUICE_RETURN_IF_ERROR(file.read(0, start));
  const auto zero = std::ranges::find(start, 0);
  if (zero == start.end()) return {};
  return Error{ErrorCode::kBadInput, fmt::format("{} is not text: byte {} is zero; give text files only",
                                                 file.path().string(), zero - start.begin())};
}

Result<std::vector<std::filesystem::path>> text_files(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return std::vector{path};
  std::vector<std::filesystem::path> found;
  const auto unreadable = [&](const std::filesystem::path& what) {
    return Error{ErrorCode::kBadInput, fmt::format("cannot read {}: {}", what.string(), failure.message())};
  };
  std::filesystem::directory_iterator each(path, failure);
  for (; !failure && each != std::filesystem::directory_iterator(); each.increment(failure)) {
    const std::filesystem::file_status status = std::filesystem::status(each->path(), failure);
    if (status.type() == std::filesystem::file_type::none) return unreadable(each->path());  // a link in a circle
    if (std::filesystem::is_regular_file(status)) found.push_back(each->path());
    failure.clear();  // a link to nothing is no text
  }
  if (failure) return unreadable(path);
  std::ranges::sort(found);
  return found;
}

}  // namespace

Result<std::unique_ptr<TokenSet>> TextCorpus::open(const std::filesystem::path& path, std::int64_t sequence,
                                                   Split split) {
  std::unique_ptr<TextCorpus> corpus(new TextCorpus());
  corpus->sequence_ = sequence;
  SLUICE_RETURN_IF_ERROR(corpus->add_files(path));
  SLUICE_RETURN_IF_ERROR(corpus->choose_windows(path, split));
  return std::unique_ptr<TokenSet>(std::move(corpus));
}

Status TextCorpus::add_files(const std::filesystem::path& path) {
  SLUICE_ASSIGN(const std::vector<std::filesystem::path> paths, text_files(path));
  begins_.push_back(0);
  for (const std::filesystem::path& each : paths) {
    SLUICE_ASSIGN(DataFile file, DataFile::open(each, "text file", "give a text file, or a folder of them"));
    SLUICE_RETURN_IF_ERROR(check_text(file));
    begins_.push_back(begins_.back() + file.bytes());
    files_.push_back(std::move(file));
  }
  return {};
}

Status TextCorpus::choose_windows(const std::filesystem::path& path, Split split) {
  const std::int64_t bytes = begins_.back();
  const std::int64_t training = bytes - bytes / 10;
  first_ = split == Split::kTraining ? 0 : training;
  const std::int64_t part = split == Split::kTraining ? training : bytes - training;
  windows_ = (part - 1) / sequence_;
  if (part > 0 && windows_ > 0) return {};
  return Error{
      ErrorCode::kBadInput,
      fmt::format("{} has {} bytes of text, of which {} are for {}; one sequence takes {}: give more text, or "
                  "set a smaller --sequence",
                  path.string(), bytes, part, split == Split::kTraining ? "training" : "validation", sequence_ + 1)};
}

Status TextCorpus::read_bytes(std::int64_t offset, std::span<unsigned char> into) const {
  auto file = as_index(std::ranges::upper_bound(begins_, offset) - begins_.begin() - 1);
  while (!into.empty()) {
    const auto part = static_cast<std::size_t>(std::min<std::int64_t>(begins_[file + 1] - offset, std::ssize(into)));
    SLUICE_RETURN_IF_ERROR(files_[file].read(offset - begins_[file], into.first(part)));
    into = into.subspan(part);
    offset += static_cast<std::int64_t>(part);
    ++file;
  }
  return {};
}

Status TextCorpus::read(std::int64_t sample, std::span<std::int32_t> tokens) const {
  std::vector<unsigned char> bytes(tokens.size());
  SLUICE_RETURN_IF_ERROR(read_bytes(first_ + sample * sequence_, bytes));
  std::ranges::copy(bytes, tokens.begin());
  return {};
}

}  // namespace sluice::data

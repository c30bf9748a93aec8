#include "sluice/reproduce/make_kept.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "sluice/base/atomic_file.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/reproduce/code_tree.hpp"
#include "sluice/reproduce/kept_text.hpp"
#include "sluice/reproduce/program_run.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLastLines = 5;
constexpr const char* kMaking = ".making";

std::string text_at(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string last_lines(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  std::size_t begin = text.size();
  for (std::size_t line = 0; line < kLastLines && begin != std::string::npos && begin > 0; ++line) {
    begin = text.rfind('\n', begin - 1);
  }
  return begin == std::string::npos ? text : text.substr(begin + (begin < text.size() && text[begin] == '\n' ? 1 : 0));
}

Status make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!failure) return {};
  return Error{ErrorCode::kIo, fmt::format("cannot make the folder {}: {}", folder.string(), failure.message())};
}

Places places_of(const KeptResult& result, const fs::path& files, const fs::path& sluice, const fs::path& root,
                 const fs::path& spill) {
  return {.sluice = sluice,
          .out = files / (result.name + ".json"),
          .picture = files / (result.name + ".svg"),
          .folder = files,
          .root = root,
          .spill = spill,
          .name = result.name};
}

// What is measured as it is now. Without git, only that nobody knows.
MadeRecord record_of(const KeptResult& result, const Catalog& catalog) {
  const Result<CodeTree> now = tree_of_working_files(catalog.root);
  if (!now.ok()) return {};
  MadeRecord record{now->commit, false, {}};
  const Result<CodeTree> committed = tree_of_commit(catalog.root, "HEAD");
  const std::set<std::string> paths = *measured_paths(result, catalog.code);  // read_catalog() has tried all
  for (const std::string& path : paths) {
    record.code[path] = now->hash_of(path);
    if (!committed.ok() || committed->hash_of(path) != record.code[path]) record.dirty = true;
  }
  return record;
}

}  // namespace

Result<KeptMaker> KeptMaker::start(const Catalog& catalog, fs::path sluice, fs::path spill) {
  KeptMaker maker;
  maker.catalog_ = &catalog;
  maker.sluice_ = std::move(sluice);
  maker.spill_ = std::move(spill);
  SLUICE_RETURN_IF_ERROR(make_folder(maker.spill_));
  SLUICE_RETURN_IF_ERROR(make_folder(catalog.results()));
  maker.lock_ = ::open(catalog.results().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (maker.lock_ < 0 || ::flock(maker.lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return Error{ErrorCode::kIo, fmt::format("cannot lock {}: {}", catalog.results().string(), std::strerror(errno))};
    }
    return bad_input(fmt::format("another sluice reproduce is at work in {}", catalog.root.string()));
  }
  SLUICE_RETURN_IF_ERROR(make_folder(maker.scratch("files")));
  if (::access(catalog.results().c_str(), W_OK) != 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot write {}: {}", catalog.results().string(), std::strerror(errno))};
  }
  return maker;
}

KeptMaker::KeptMaker(KeptMaker&& other) noexcept
    : catalog_(other.catalog_),
      sluice_(std::move(other.sluice_)),
      spill_(std::move(other.spill_)),
      lock_(std::exchange(other.lock_, -1)) {}

KeptMaker::~KeptMaker() {
  if (lock_ < 0) return;
  std::error_code ignored;
  fs::remove_all(catalog_->results() / kMaking, ignored);
  ::close(lock_);
}

fs::path KeptMaker::scratch(const std::string& name) const { return catalog_->results() / kMaking / name; }

CommandWords KeptMaker::filled(const KeptResult& result, const CommandWords& words) const {
  const Places places = places_of(result, scratch("files"), sluice_, catalog_->root, spill_);
  CommandWords full;
  for (const std::string& word : words) full.push_back(fill_places(word, places));
  return full;
}

Status KeptMaker::run(const KeptResult& result, const CommandWords& words, const fs::path& output,
                      const std::function<bool()>& goes_on) const {
  SLUICE_ASSIGN(const int status,
                run_program({filled(result, words), catalog_->root, output, scratch("errors"), {}}, goes_on));
  if (status == 0) return {};
  const std::string why = status == 127 ? "no such program" : last_lines(text_at(scratch("errors")));
  return bad_input(
      fmt::format("{} ended with {}{}{}", shown_command(words, result.name), status, why.empty() ? "" : ": ", why));
}

Status KeptMaker::make(const KeptResult& result, const std::function<bool()>& goes_on) {
  std::error_code ignored;
  fs::remove_all(catalog_->results() / kMaking, ignored);
  SLUICE_RETURN_IF_ERROR(make_folder(scratch("files")));
  const MadeRecord made = record_of(result, *catalog_);
  for (const CommandWords& before : result.before) SLUICE_RETURN_IF_ERROR(run(result, before, {}, goes_on));
  SLUICE_RETURN_IF_ERROR(run(result, result.command, scratch("printed"), goes_on));
  const Places places = places_of(result, scratch("files"), sluice_, catalog_->root, spill_);
  if (result.writes("$out")) {
    const Result<nlohmann::json> written = read_json_file(places.out);
    if (!written.ok()) return bad_input("it wrote no good JSON: " + written.error().message);
  }
  return keep(result, kept_text(result, made, text_at(scratch("printed")), places));
}

Status KeptMaker::keep(const KeptResult& result, const std::string& text) const {
  std::error_code failure;
  const fs::path kept = catalog_->results() / (result.name + ".txt");
  fs::remove(kept, failure);
  std::vector<fs::path> files;
  if (!failure) {
    for (const auto& entry : fs::directory_iterator(scratch("files"), failure)) files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    if (!failure) fs::rename(file, catalog_->results() / file.filename(), failure);
  }
  if (failure) return Error{ErrorCode::kIo, fmt::format("cannot keep {}: {}", kept.string(), failure.message())};
  return write_file(kept, text);
}

}  // namespace sluice

#include "sluice/reproduce/code_tree.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "sluice/base/hash.hpp"
#include "sluice/reproduce/program_run.hpp"

namespace sluice {
namespace {

constexpr std::size_t kShownDigits = 12;

bool is_test(std::string_view path) { return path.ends_with("_test.cpp") || path.ends_with("_test.py"); }

std::string without_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Git commands in one repository.
class Git {
 public:
  explicit Git(std::filesystem::path root) : root_(std::move(root)) {}

  void set(const std::string& variable, const std::string& value) { environment_[variable] = value; }

  Result<std::string> operator()(std::vector<std::string> words) const {
    words.insert(words.begin(), "git");
    return output_of_program({words, root_, {}, {}, environment_});
  }

  // "MODE blob HASH\tPATH", each ended by a zero.
  Result<CodeTree> files_of(const std::string& tree) const {
    SLUICE_ASSIGN(const std::string listed, (*this)({"ls-tree", "-r", "-z", "--full-tree", tree}));
    CodeTree code;
    for (std::string_view left = listed; !left.empty();) {
      const std::string_view line = left.substr(0, left.find('\0'));
      left.remove_prefix(std::min(line.size() + 1, left.size()));
      const std::size_t tab = line.find('\t');
      const std::size_t hash = line.find(' ', line.find(' ') + 1) + 1;
      code.blobs[std::string(line.substr(tab + 1))] = std::string(line.substr(hash, tab - hash));
    }
    return code;
  }

 private:
  std::filesystem::path root_;
  std::map<std::string, std::string> environment_;
};

class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "sluice-XXXXXX").string()) {
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  bool made() const { return made_; }
  std::filesystem::path operator/(const std::string& name) const { return std::filesystem::path(path_) / name; }

 private:
  std::string path_;
  bool made_ = false;
};

// With its time: files that are not older than the index are those that git reads again, because a change within the
// same second does not show in a file's time. Without an index git reads every file, which takes longer.
void copy_index(const std::filesystem::path& index, const std::filesystem::path& copy) {
  std::error_code failure;
  std::filesystem::copy_file(index, copy, failure);
  if (failure) return;
  std::filesystem::last_write_time(copy, std::filesystem::last_write_time(index, failure), failure);
}

Status check_top(const std::filesystem::path& root) {
  const Result<std::string> top = Git(root)({"rev-parse", "--show-toplevel"});
  std::error_code missing;
  if (top.ok() && std::filesystem::equivalent(without_newline(*top), root, missing)) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("{} is not the top of a git repository, or git is missing", root.string())};
}

}  // namespace

std::string CodeTree::hash_of(const std::string& path) const {
  Hasher hasher;
  bool any = false;
  const auto add = [&](const auto& file) {
    if (is_test(file.first)) return;
    hasher.add(file.first).add(file.second);
    any = true;
  };
  if (const auto itself = blobs.find(path); itself != blobs.end()) add(*itself);
  const std::string folder = path.ends_with('/') ? path : path + "/";
  for (auto file = blobs.lower_bound(folder); file != blobs.end() && file->first.starts_with(folder); ++file)
    add(*file);
  return any ? hasher.hex().substr(0, kShownDigits) : "";
}

Result<CodeTree> tree_of_commit(const std::filesystem::path& root, const std::string& commit) {
  const Git git(root);
  SLUICE_ASSIGN(const std::string hash, git({"rev-parse", "--verify", "--quiet", "--short", commit + "^{commit}"}));
  SLUICE_ASSIGN(CodeTree code, git.files_of(without_newline(hash)));
  code.commit = without_newline(hash);
  return code;
}

Result<CodeTree> tree_of_working_files(const std::filesystem::path& root) {
  SLUICE_RETURN_IF_ERROR(check_top(root));
  Git git(root);
  SLUICE_ASSIGN(const std::string head, git({"rev-parse", "--short", "HEAD"}));
  SLUICE_ASSIGN(const std::string index, git({"rev-parse", "--path-format=absolute", "--git-path", "index"}));
  SLUICE_ASSIGN(const std::string objects, git({"rev-parse", "--path-format=absolute", "--git-path", "objects"}));
  const ScratchFolder scratch;
  if (!scratch.made()) return Error{ErrorCode::kIo, "cannot make a folder for temporary files"};
  copy_index(without_newline(index), scratch / "index");
  std::filesystem::create_directory(scratch / "objects");
  git.set("GIT_INDEX_FILE", scratch / "index");
  git.set("GIT_OBJECT_DIRECTORY", scratch / "objects");
  git.set("GIT_ALTERNATE_OBJECT_DIRECTORIES", without_newline(objects));
  SLUICE_RETURN_IF_ERROR(git({"add", "--all"}));
  SLUICE_ASSIGN(const std::string tree, git({"write-tree"}));
  SLUICE_ASSIGN(CodeTree code, git.files_of(without_newline(tree)));
  code.commit = without_newline(head);
  return code;
}

std::vector<std::string> changed_paths(const CodeTree& before, const CodeTree& now,
                                       const std::vector<std::string>& paths) {
  std::vector<std::string> changed;
  for (const std::string& path : paths) {
    if (before.hash_of(path) != now.hash_of(path)) changed.push_back(path);
  }
  return changed;
}

}  // namespace sluice

// The code at a moment, as git knows it: every file of a commit, or of the working tree as it is now, with its
// content's hash. A path's hash covers all files under it but tests; comments count, because nobody can tell them from
// code here.
//
// Cost: a git command or two for a commit, four for the working tree, 0.1 s each. Nothing of the repository is changed:
// the working tree is read into an index and an object folder of their own.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice {

struct CodeTree {
  std::string commit;                        // short
  std::map<std::string, std::string> blobs;  // path from the root -> git's hash of its content

  // 12 hexadecimal digits; empty where nothing is under that path.
  std::string hash_of(const std::string& path) const;
};

// kBadInput where the commit is not there.
Result<CodeTree> tree_of_commit(const std::filesystem::path& root, const std::string& commit);
// kUnsupported where the folder is not the top of a git repository, or git is missing.
Result<CodeTree> tree_of_working_files(const std::filesystem::path& root);

// Which of the paths differ.
std::vector<std::string> changed_paths(const CodeTree& before, const CodeTree& now,
                                       const std::vector<std::string>& paths);

}  // namespace sluice

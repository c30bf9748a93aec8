// Whether a kept result is there, and whether it was made by the code that is here now.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/reproduce/code_tree.hpp"
#include "sluice/reproduce/files/catalog.hpp"

namespace sluice {

struct KeptState {
  enum class Kind {
    kKept,     // by this code
    kUnknown,  // kept; whether by this code cannot be told
    kStale,    // kept, by other code
    kMissing
  };
  Kind kind = Kind::kMissing;
  std::string why;  // empty for kKept
};
std::string_view to_string(KeptState::Kind kind);

// Looks results up and remembers what it has read of git: one working tree, and every commit once.
class KeptStates {
 public:
  explicit KeptStates(const Catalog& catalog);

  KeptState of(const std::string& name);
  // The code that is here now; an error that says why nobody can tell.
  const Result<CodeTree>& now() const { return now_; }

 private:
  KeptState compare(const KeptResult& result, const std::string& text);
  const CodeTree* commit(const std::string& name);

  const Catalog& catalog_;
  Result<CodeTree> now_;
  std::map<std::string, std::optional<CodeTree>> commits_;
};

}  // namespace sluice

// What a kept result's .txt says of how it was made. Its head:
//
//   $ sluice plan ...                                   what ran before, and the command
//   $ sluice compare ... --json docs/results/NAME.json
//   commit 1f2e3d4 dirty                                dirty: measured code differed from that commit
//   code sluice/planners/joint=0123456789ab sluice/exec/executor.cpp=...      what was measured (code_tree.hpp)
//   note                                                where there is one
//
// Files from before codes were noted have the commit alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

struct MadeRecord {
  std::string commit;
  bool dirty = false;
  std::map<std::string, std::string> code;  // path -> hash
};

// Nothing where the text names no commit in its head.
std::optional<MadeRecord> read_made_record(std::string_view text);
std::string made_record_text(const MadeRecord& record);  // the lines `commit` and `code`

}  // namespace sluice

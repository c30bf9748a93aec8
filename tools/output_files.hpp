// Files that a command writes at its end, or while it works. Each of them is tried before the command begins, so that
// hours of work are not lost to a folder that is not there.
#pragma once

#include <string>

#include "sluice/base/result.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
class Option;
}  // namespace CLI

namespace sluice::cli {

// An option that names a file to write; every such option is made here.
CLI::Option* add_output_file(CLI::App& command, const std::string& names, std::string& path,
                             const std::string& description);

// Whether the files that the parsed command is to write can be written now (base/atomic_file.hpp). `app` was parsed.
Status try_output_files(const CLI::App& app);

// What a command leaves is written one by one, whatever became of the others: the first failure is the command's, others are told.
class Outputs {
 public:
  void note(const Status& written);
  const Status& failure() const { return failure_; }

 private:
  Status failure_;
};

}  // namespace sluice::cli

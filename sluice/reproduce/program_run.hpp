// Runs another program and waits for it. It gets a process group of its own, so that Ctrl-C on the terminal reaches
// only us and we end the program and all that it started; it ends by itself when we are killed. Nothing may run in
// other threads when it is started. Errors are kIo: no process, no file. A program that does not exist ends with 127,
// as in a shell.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice {

struct ProgramRun {
  std::vector<std::string> words;                  // the program and its arguments, looked up in $PATH
  std::filesystem::path folder;                    // where it runs
  std::filesystem::path output, errors;            // what it prints; /dev/null where empty
  std::map<std::string, std::string> environment;  // beside ours
};

// The exit status, 128 + signal when killed. `goes_on` is asked up to a hundred times a second, four times where the
// program takes long; when it says no, the program is interrupted, killed if that does not end it within twenty
// seconds, and the result is kInterrupted.
Result<int> run_program(
    const ProgramRun& run, const std::function<bool()>& goes_on = [] { return true; });

// What the program prints; kBadInput with its last words where it fails.
Result<std::string> output_of_program(const ProgramRun& run);

}  // namespace sluice

#include "tools/process/openmp_environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "sluice/base/threads/compute_thread_count.hpp"

namespace sluice::cli {
namespace {

void start_again() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.empty()) return;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
}

}  // namespace

void settle_openmp_environment() {
  constexpr const char* kDynamic = "OMP_DYNAMIC";
  constexpr const char* kLimit = "OMP_THREAD_LIMIT";
  if (std::getenv(kDynamic) == nullptr && std::getenv(kLimit) == nullptr) return;
  if (const std::optional<int> limit = usual_thread_limit()) {
    ::setenv(kUsualThreads, std::to_string(*limit).c_str(), 1);
  }
  ::unsetenv(kDynamic);
  ::unsetenv(kLimit);
  start_again();
}

}  // namespace sluice::cli

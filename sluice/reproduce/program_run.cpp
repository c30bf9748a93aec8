#include "sluice/reproduce/program_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{10}, kLongestWait{250};
constexpr std::chrono::seconds kGrace{20};
constexpr int kNoProgram = 127;

// Texts as exec wants them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> texts;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (!more.contains(std::string(text.substr(0, text.find('='))))) texts.emplace_back(text);
  }
  for (const auto& [name, value] : more) texts.push_back(fmt::format("{}={}", name, value));
  return texts;
}

// A descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

int open_to_write(const std::filesystem::path& path) {
  const std::filesystem::path target = path.empty() ? "/dev/null" : path;
  return ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

// Between fork and exec only calls that are safe there.
[[noreturn]] void become(char** words, char** environment, const char* folder, int output, int errors, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGINT);
  if (::getppid() != parent) ::_exit(kNoProgram);  // killed in between
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  if (::chdir(folder) == 0) ::execvpe(words[0], words, environment);
  ::_exit(kNoProgram);
}

Result<pid_t> start_program(const ProgramRun& run, int output, int errors) {
  std::vector<std::string> words = run.words;
  std::vector<std::string> environment = environment_with(run.environment);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const std::string folder = run.folder.empty() ? "." : run.folder.string();
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) return Error{ErrorCode::kIo, fmt::format("cannot start {}: {}", words[0], std::strerror(errno))};
  if (process == 0) {
    become(const_cast<char**>(word_pointers.data()), const_cast<char**>(environment_pointers.data()), folder.c_str(),
           output, errors, parent);
  }
  ::setpgid(process, process);  // whichever of us comes first
  return process;
}

// Whether the process has ended, waiting for at most `time`.
bool ends_within(pid_t process, milliseconds time, int& status) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::min(time, kFirstWait));
  }
  return true;
}

void end_program(pid_t process) {
  int status = 0;
  ::kill(-process, SIGINT);
  if (!ends_within(process, kGrace, status)) {
    ::kill(-process, SIGKILL);
    ::waitpid(process, &status, 0);
  }
  ::kill(-process, SIGKILL);  // what it has started and left
}

Result<int> wait_for(pid_t process, const std::function<bool()>& goes_on) {
  int status = 0;
  for (milliseconds wait = kFirstWait; !ends_within(process, wait, status);
       wait = std::min(kLongestWait, wait + wait / 4)) {
    if (goes_on()) continue;
    end_program(process);
    return Error{ErrorCode::kInterrupted, "interrupted"};
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<int> run_into(const ProgramRun& run, int output, int errors, const std::function<bool()>& goes_on) {
  SLUICE_ASSIGN(const pid_t process, start_program(run, output, errors));
  return wait_for(process, goes_on);
}

std::string text_in(int descriptor) {
  std::string text;
  std::array<char, 65536> part{};
  ::lseek(descriptor, 0, SEEK_SET);
  for (ssize_t size = 0; (size = ::read(descriptor, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

Result<int> run_program(const ProgramRun& run, const std::function<bool()>& goes_on) {
  const OpenFile output(open_to_write(run.output)), errors(open_to_write(run.errors));
  if (output.get() < 0 || errors.get() < 0) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot write {}: {}", (output.get() < 0 ? run.output : run.errors).string(),
                             std::strerror(errno))};
  }
  return run_into(run, output.get(), errors.get(), goes_on);
}

Result<std::string> output_of_program(const ProgramRun& run) {
  const OpenFile output(::memfd_create("output", MFD_CLOEXEC)), errors(::memfd_create("errors", MFD_CLOEXEC));
  if (output.get() < 0 || errors.get() < 0) {
    return Error{ErrorCode::kIo, fmt::format("no memory for what {} prints", run.words.front())};
  }
  SLUICE_ASSIGN(const int status, run_into(run, output.get(), errors.get(), [] { return true; }));
  if (status == 0) return text_in(output.get());
  const std::string words = text_in(errors.get());
  return bad_input(fmt::format("{} ended with {}: {}", fmt::join(run.words, " "), status,
                               words.substr(0, words.find_last_not_of("\n") + 1)));
}

}  // namespace sluice

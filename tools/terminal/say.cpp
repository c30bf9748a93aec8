#include "tools/terminal/say.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

namespace sluice::cli {
namespace {

int& first_failure() {
  static int reason = 0;
  return reason;
}

// A stream that was closed gets what cannot be used: else the next file that is opened took its number, and what is said
// were written into it.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

void note_failure(bool failed) {
  if (failed && first_failure() == 0) first_failure() = errno == 0 ? EIO : errno;
}

}  // namespace

void say_text(std::string_view text) {
  errno = 0;
  note_failure(std::fwrite(text.data(), 1, text.size(), stdout) != text.size());
}

void say_now() {
  errno = 0;
  note_failure(std::fflush(stdout) != 0);
}

void begin_saying() {
  occupy_closed_streams();
  first_failure() = 0;
  std::clearerr(stdout);
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

int dropped_output() {
  say_now();
  note_failure(std::ferror(stdout) != 0);
  return first_failure();
}

}  // namespace sluice::cli

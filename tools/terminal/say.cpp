#include "tools/terminal/say.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>

namespace sluice::cli {
namespace {

int& first_failure() {
  static int reason = 0;
  return reason;
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

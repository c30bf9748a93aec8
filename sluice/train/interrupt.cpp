#include "sluice/train/interrupt.hpp"

namespace sluice::train {
namespace {

volatile std::sig_atomic_t signal_seen = 0;

void note_signal(int) { signal_seen = 1; }

struct sigaction noting(int flags) {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = flags | SA_RESTART;
  return action;
}

void note_unless_ignored(int signal, const struct sigaction& action, struct sigaction& previous) {
  sigaction(signal, nullptr, &previous);
  if (previous.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signal_seen = 0;
  const struct sigaction once = noting(static_cast<int>(SA_RESETHAND));  // then it meets the default: the end
  const struct sigaction always = noting(0);
  note_unless_ignored(SIGINT, once, previous_int_);
  sigaction(SIGTERM, &always, &previous_term_);
  note_unless_ignored(SIGHUP, always, previous_hangup_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &previous_term_, nullptr);
  sigaction(SIGHUP, &previous_hangup_, nullptr);
}

bool InterruptGuard::interrupted() const { return signal_seen != 0; }

}  // namespace sluice::train

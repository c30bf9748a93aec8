#include "sluice/train/interrupt.hpp"

namespace sluice::train {
namespace {

volatile std::sig_atomic_t signal_seen = 0;

void note_signal(int) { signal_seen = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  signal_seen = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;  // the second signal meets the default: the end
  sigaction(SIGINT, &action, &previous_int_);
  sigaction(SIGTERM, &action, &previous_term_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &previous_term_, nullptr);
}

bool InterruptGuard::interrupted() const { return signal_seen != 0; }

}  // namespace sluice::train

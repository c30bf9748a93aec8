#include "sluice/base/threads/wake_promptly.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sluice {
namespace {

constexpr std::int32_t kNice = -10;             // nine times the weight of a thread that computes
constexpr std::uint64_t kSliceNanos = 100'000;  // the shortest that Linux takes
constexpr std::uint64_t kResetOnFork = 1;       // SCHED_FLAG_RESET_ON_FORK

// struct sched_attr in its first version, which glibc 2.36 does not declare.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = kResetOnFork;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = kSliceNanos;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

bool set(const SchedulingAttributes& attributes) { return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0; }

}  // namespace

void wake_promptly() {
  SchedulingAttributes attributes;
  if (set({.nice = kNice})) return;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  static_cast<void>(set({.nice = attributes.nice}));
}

}  // namespace sluice

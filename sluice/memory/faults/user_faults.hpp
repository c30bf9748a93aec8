// The kernel's userfaultfd: pages of a range of memory are put there by this process, when it likes or when somebody touches one
// that is missing, who waits meanwhile.
//
// Why this way, and not by protection and SIGSEGV alone: whoever touches a page waits inside the kernel, on whatever stack. Generated
// code that has data in its stack pointer (oneDNN's kernels) survives no signal. Cost: 6 us for a touch where the thread
// that answers runs, 48 where it has to be woken (measured).
//
// Pages move there and back from a place of ours as they are, in huge pages where they are in such, in some microseconds.
// Kernels from 5.7 on. Without privileges (vm.unprivileged_userfaultfd = 0) system calls that are given addresses of missing
// pages fail with EFAULT; plain loads do not care. kUnsupported where a container forbids the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

class UserFaults {
 public:
  static Result<UserFaults> open();
  ~UserFaults();
  UserFaults(UserFaults&& other) noexcept;
  UserFaults& operator=(UserFaults&&) = delete;

  // Whole pages of private memory of no file, from now on for reading only. A child of the process does not have them: there
  // they would be zeros.
  Status watch(std::byte* begin, Bytes bytes) const;

  // Pages that are missing at `to` are there, as they were at `from`, for reading only; nobody who waits for them goes on
  // before wake(). At `from` are none then.
  void show(std::byte* to, std::byte* from, Bytes bytes) const;

  // The other way: they are missing at `from`, and at `to` they may be read and written.
  void take_back(std::byte* from, std::byte* to, Bytes bytes) const;

  void wake(std::byte* begin, Bytes bytes) const;

  // Waits for a touch of a page that is missing; nothing after stop(). One thread.
  std::optional<std::byte*> next() const;
  void stop() const;

 private:
  UserFaults(int faults, int stopping) : faults_(faults), stopping_(stopping) {}

  bool enlist(std::byte* begin, Bytes bytes) const;

  int faults_;
  int stopping_;
};

}  // namespace sluice::memory

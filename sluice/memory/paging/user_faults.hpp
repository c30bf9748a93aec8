// The kernel's userfaultfd: the pages of a range of memory are put there by this process, when it likes or when somebody
// touches one that is missing, and stores to protected ones wait for its consent.
//
// Why this way, and not by protection and SIGSEGV: whoever touches a page waits inside the kernel, on whatever stack. Generated
// code that has data in its stack pointer (oneDNN's kernels) survives no signal. Cost: 6 us for a touch where the thread
// that answers runs, 48 where it has to be woken (measured).
//
// Kernels from 5.7 on. Without privileges (vm.unprivileged_userfaultfd = 0) system calls that are given addresses of missing
// pages fail with EFAULT; plain loads and stores do not care. kUnsupported where a container forbids the call.
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
  struct Fault {
    std::byte* address = nullptr;  // of the page
    bool stores = false;
    bool is_protected = false;  // the page is there, and protected
  };

  static Result<UserFaults> open();
  ~UserFaults();
  UserFaults(UserFaults&& other) noexcept;
  UserFaults& operator=(UserFaults&&) = delete;

  // Whole pages of private memory of no file. A child of the process does not have them: there they would be zeros.
  Status watch(std::byte* begin, Bytes bytes) const;

  // Puts missing pages there. Nobody who waits for them goes on before wake().
  void install(std::byte* to, const std::byte* from, Bytes bytes, bool protects) const;
  void protect(std::byte* begin, Bytes bytes) const;    // those that are there
  void unprotect(std::byte* begin, Bytes bytes) const;  // likewise; wakes
  void wake(std::byte* begin, Bytes bytes) const;
  static void drop(std::byte* begin, Bytes bytes);  // they are missing from now on

  // Waits for the next fault; nothing after stop(). One thread.
  std::optional<Fault> next() const;
  void stop() const;

 private:
  UserFaults(int faults, int stopping) : faults_(faults), stopping_(stopping) {}

  int faults_;
  int stopping_;
};

}  // namespace sluice::memory

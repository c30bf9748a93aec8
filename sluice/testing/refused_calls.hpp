// Makes the kernel refuse system calls to this process, as a container's filter does: for the child of a death test.
//
// This is for good, and also for threads that the process starts later; nothing gives the calls back. x86-64 only, like
// the project.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "sluice/base/check.hpp"

namespace sluice::testing {

// Each of `calls` (SYS_...) fails with `error` from here on.
inline void refuse_calls(const std::vector<long>& calls, int error = EPERM) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  SLUICE_CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  SLUICE_CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "a filter of system calls");
}

}  // namespace sluice::testing

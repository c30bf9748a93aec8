#include "sluice/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::doctor {
namespace {

std::string limit_text(const std::optional<Bytes>& limit) { return limit ? format_bytes(*limit) : "unlimited"; }

Check check_uring(const memory::UringSupport& uring) {
  const std::string name = "io_uring";
  if (!uring.available) {
    return {
        name, Severity::kNote, fmt::format("not available: {}", uring.reason),
        "allow it (sysctl kernel.io_uring_disabled=0; in a container, a seccomp profile that lets it through): without "
        "it a thread waits for each transfer to or from the file tier"};
  }
  if (!uring.deferred) {
    return {name, Severity::kNote, "available, without deferred completions",
            "a kernel from 6.1 spends less processor time on transfers"};
  }
  return {name, Severity::kOk, "available, with deferred completions", ""};
}

Check check_registering(const memory::UringSupport& uring) {
  const std::string name = "registered buffers";
  if (uring.registered) return {name, Severity::kOk, fmt::format("{} could be pinned", format_bytes(uring.tried)), ""};
  return {
      name, Severity::kNote, fmt::format("{} could not be pinned", format_bytes(uring.tried)),
      "raise ulimit -l (memlock in /etc/security/limits.conf) to the fast budget: transfers then take less processor "
      "time"};
}

Check check_huge_pages(const std::string& setting) {
  const std::string name = "huge pages";
  if (setting == "always" || setting == "madvise") return {name, Severity::kOk, setting, ""};
  return {name, Severity::kNote, setting.empty() ? "this kernel has no transparent huge pages" : setting,
          setting.empty() ? ""
                          : "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: arenas then take fewer page "
                            "faults"};
}

Check check_cores(const ProcessorFacts& processors, const LimitFacts& limits) {
  const std::string name = "processors";
  const std::string found = fmt::format(
      "{}: {} online, {} for this process{}", processors.name, processors.online, processors.allowed,
      limits.group_processors ? fmt::format(", {:.2g} by the control group's quota", *limits.group_processors) : "");
  if (limits.group_processors && *limits.group_processors < processors.allowed) {
    const int threads = std::max(1, static_cast<int>(std::floor(*limits.group_processors)));
    return {name, Severity::kNote, found,
            fmt::format("give --threads {}: more threads than the quota wait for each other at every op", threads)};
  }
  return {name, Severity::kOk, found, ""};
}

Check check_omp(const ProcessorFacts& processors) {
  const std::string name = "OMP_NUM_THREADS";
  if (processors.omp_threads.empty()) return {name, Severity::kOk, "not set", ""};
  return {name, Severity::kNote, processors.omp_threads,
          "unset it: sluice goes by --threads, and other programs' figures "
          "beside it are then of another number of threads"};
}

Check check_load(const ProcessorFacts& processors) {
  const std::string found = fmt::format("{:.1f} of {} processors are busy", processors.busy, processors.online);
  if (processors.busy < 0.25) return {"load", Severity::kOk, found, ""};
  return {"load", Severity::kNote, found, "wait until they are idle before measuring: op times and plans are of now"};
}

}  // namespace

std::string_view to_string(Severity verdict) {
  switch (verdict) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kProblem:
      return "problem";
  }
  return "";
}

std::vector<Check> check_kernel(const KernelFacts& kernel) {
  std::vector<Check> checks{{"kernel", Severity::kOk, kernel.release, ""}, check_uring(kernel.uring)};
  if (kernel.uring.available) checks.push_back(check_registering(kernel.uring));
  checks.push_back(check_huge_pages(kernel.huge_pages));
  return checks;
}

std::vector<Check> check_memory(const MemoryFacts& memory, const LimitFacts& limits) {
  constexpr Bytes kLeast = 256 * kMiB;  // of which the command itself takes 60 MiB
  const Bytes usable = std::min(memory.available, limits.group_memory.value_or(memory.available));
  Check check{"memory", Severity::kOk,
              fmt::format("{} available of {}; by the control group {}", format_bytes(memory.available),
                          format_bytes(memory.total), limit_text(limits.group_memory)),
              ""};
  if (usable < kLeast) {
    check.verdict = Severity::kProblem;
    check.advice = fmt::format("end other programs, or raise the limit: {} are hardly enough for the command itself",
                               format_bytes(usable));
  } else if (limits.group_memory && *limits.group_memory < memory.available) {
    check.verdict = Severity::kNote;
    check.advice = fmt::format("keep --fast well below {}: beyond it the kernel ends the run", format_bytes(usable));
  }
  return {check};
}

std::vector<Check> check_processors(const ProcessorFacts& processors, const LimitFacts& limits) {
  std::vector<Check> checks{check_cores(processors, limits), check_omp(processors), check_load(processors)};
  checks.push_back(processors.nodes == 1
                       ? Check{"memory nodes", Severity::kOk, "1", ""}
                       : Check{"memory nodes", Severity::kNote, fmt::format("{}", processors.nodes),
                               "try --slow numa:NODE: another node's memory as the slow tier (docs/tiers.md)"});
  return checks;
}

std::vector<Check> check_host(const HostFacts& facts) {
  std::vector<Check> checks;
  for (const std::vector<Check>& some : {check_kernel(facts.kernel), check_memory(facts.memory, facts.limits),
                                         check_processors(facts.processors, facts.limits),
                                         check_storage(facts.storage, facts.limits), check_software(facts)}) {
    checks.insert(checks.end(), some.begin(), some.end());
  }
  return checks;
}

bool can_train(const std::vector<Check>& checks) {
  return std::ranges::none_of(checks, [](const Check& check) { return check.verdict == Severity::kProblem; });
}

}  // namespace sluice::doctor

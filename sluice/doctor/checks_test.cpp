#include "sluice/doctor/checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/profile/profile_cache.hpp"

namespace sluice::doctor {
namespace {

using ::testing::HasSubstr;

// A machine on which nothing is wrong.
HostFacts healthy() {
  HostFacts facts;
  facts.kernel = {.release = "6.1.0", .huge_pages = "madvise", .uring = {true, true, true, 64 * kMiB, ""}};
  facts.limits.open_files = 1024;
  facts.processors = {.name = "CPU", .online = 4, .allowed = 4, .busy = 0.1, .omp_threads = "", .nodes = 1};
  facts.memory = {.total = 16 * kGiB, .available = 12 * kGiB};
  facts.storage = {.path = "/var/tmp", .failure = "", .free = 100 * kGiB, .direct = true, .read = 2e9, .write = 1e9};
  facts.onednn = {.version = "2.6.3", .instructions = "avx512_core", .allowed = "", .avx2 = true, .avx512 = true};
  facts.cache = {.folder = "/cache", .exists = true, .writable = true};
  facts.cache.profiles = {
      {.path = "/cache/profile-a.json", .version = profile::kCacheFormatVersion, .of_this_machine = true}};
  facts.no_gpu = "built without CUDA";
  facts.mpi = true;
  return facts;
}

// The one check with the name, of a machine that `change` has made worse.
template <typename Change>
Check check_of(const std::string& name, const Change& change) {
  HostFacts facts = healthy();
  change(facts);
  const std::vector<Check> checks = check_host(facts);
  const auto found = std::ranges::find(checks, name, &Check::name);
  return found == checks.end() ? Check{"no check " + name, Severity::kProblem, "", ""} : *found;
}

void expect_verdict(const Check& check, Severity verdict, const std::string& advice) {
  EXPECT_EQ(check.verdict, verdict) << check.name << ": " << check.found;
  EXPECT_THAT(check.advice, HasSubstr(advice)) << check.name;
}

TEST(DoctorChecks, AHealthyMachineHasNothingToDo) {
  for (const Check& check : check_host(healthy())) {
    EXPECT_EQ(check.verdict, Severity::kOk) << check.name << ": " << check.found;
    EXPECT_EQ(check.advice, "") << check.name;
  }
  EXPECT_TRUE(can_train(check_host(healthy())));
}

TEST(DoctorChecks, WhatPreventsTrainingIsAProblem) {
  HostFacts facts = healthy();
  facts.storage.failure = "Permission denied";
  EXPECT_FALSE(can_train(check_host(facts)));
  expect_verdict(check_of("spill folder", [](HostFacts& f) { f.storage.failure = "Permission denied"; }),
                 Severity::kProblem, "--spill-dir");
  expect_verdict(check_of("memory", [](HostFacts& f) { f.limits.group_memory = 100 * kMiB; }), Severity::kProblem,
                 "raise the limit");
}

TEST(DoctorChecks, WhatSlowsIsANoteAndSaysWhatToDo) {
  expect_verdict(check_of("io_uring", [](HostFacts& f) { f.kernel.uring.deferred = false; }), Severity::kNote, "6.1");
  expect_verdict(check_of("io_uring", [](HostFacts& f) { f.kernel.uring = {.reason = "Operation not permitted"}; }),
                 Severity::kNote, "seccomp");
  expect_verdict(check_of("registered buffers", [](HostFacts& f) { f.kernel.uring.registered = false; }),
                 Severity::kNote, "ulimit -l");
  expect_verdict(check_of("huge pages", [](HostFacts& f) { f.kernel.huge_pages = "never"; }), Severity::kNote,
                 "madvise");
  expect_verdict(check_of("memory", [](HostFacts& f) { f.limits.group_memory = 4 * kGiB; }), Severity::kNote,
                 "4.00 GiB");
  expect_verdict(check_of("processors", [](HostFacts& f) { f.limits.group_processors = 2.5; }), Severity::kNote,
                 "--threads 2");
  expect_verdict(check_of("OMP_NUM_THREADS", [](HostFacts& f) { f.processors.omp_threads = "8"; }), Severity::kNote,
                 "unset it");
  expect_verdict(check_of("load", [](HostFacts& f) { f.processors.busy = 1.5; }), Severity::kNote, "idle");
  expect_verdict(check_of("memory nodes", [](HostFacts& f) { f.processors.nodes = 2; }), Severity::kNote, "numa:NODE");
  expect_verdict(check_of("MPI", [](HostFacts& f) { f.mpi = false; }), Severity::kNote, "openmpi-bin");
  expect_verdict(check_of("oneDNN", [](HostFacts& f) { f.onednn.allowed = "AVX2"; }), Severity::kNote, "unset it");
  expect_verdict(check_of("oneDNN", [](HostFacts& f) { f.onednn.avx2 = false; }), Severity::kNote, "AVX2");
}

TEST(DoctorChecks, TheSpillFolderIsJudgedByWhatItIs) {
  expect_verdict(check_of("spill folder", [](HostFacts& f) { f.storage.in_memory = true; }), Severity::kNote,
                 "on a disk");
  expect_verdict(check_of("spill folder", [](HostFacts& f) { f.storage.free = kGiB; }), Severity::kNote, "free some");
  expect_verdict(check_of("O_DIRECT", [](HostFacts& f) { f.storage.direct = false; }), Severity::kNote, "ext4");
  const auto of_rate = [](BytesPerSecond rate) {
    return check_of("spill speed", [&](HostFacts& f) { f.storage.write = rate; });
  };
  EXPECT_THAT(of_rate(1e9).found, HasSubstr("NVMe"));
  EXPECT_THAT(of_rate(4e8).found, HasSubstr("SATA"));
  expect_verdict(of_rate(1e8), Severity::kNote, "another disk");
  expect_verdict(check_of("file size limit", [](HostFacts& f) { f.limits.file_size = kGiB; }), Severity::kNote,
                 "ulimit -f");
  expect_verdict(check_of("open files", [](HostFacts& f) { f.limits.open_files = 64; }), Severity::kNote, "ulimit -n");
}

TEST(DoctorChecks, CachesThatNobodyReadsAreNamed) {
  const Check foreign = check_of("profile cache", [](HostFacts& f) {
    f.cache.profiles.push_back({.path = "/cache/profile-b.json", .version = profile::kCacheFormatVersion});
    f.cache.profiles.push_back({.path = "/cache/profile-c.json", .version = 1, .of_this_machine = true});
  });
  expect_verdict(foreign, Severity::kNote, "remove what no run here reads: profile-b.json profile-c.json");
  EXPECT_THAT(foreign.found, HasSubstr("3 profiles: 1 of this machine (0 op times), 1 of others, 1 stale"));
  expect_verdict(check_of("profile cache", [](HostFacts& f) { f.cache.writable = false; }), Severity::kNote,
                 "XDG_CACHE_HOME");
  expect_verdict(check_of("age of op times", [](HostFacts& f) { f.cache.profiles[0].days = 90; }), Severity::kNote,
                 "measure again");
  EXPECT_THAT(check_of("profile cache", [](HostFacts& f) { f.cache.exists = false; }).found, HasSubstr("none yet"));
}

}  // namespace
}  // namespace sluice::doctor

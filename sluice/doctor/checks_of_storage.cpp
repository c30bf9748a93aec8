#include <fmt/format.h>

#include "sluice/doctor/checks.hpp"

namespace sluice::doctor {
namespace {

// By what one request at a time reaches: what is behind it, and whether training will wait for it.
std::string class_of(BytesPerSecond rate) {
  if (rate >= 4e9) return "as fast as memory: a cache, or several devices";
  if (rate >= 800e6) return "an NVMe drive's class";
  if (rate >= 200e6) return "a SATA solid-state drive's class";
  return "a spinning disk's or a network's class";
}

Check check_room(const StorageFacts& storage) {
  constexpr Bytes kLittle = 2 * kGiB;
  Check check{"spill folder", Severity::kOk, fmt::format("{}: {} free", storage.path, format_bytes(storage.free)), ""};
  if (!storage.failure.empty()) {
    return {check.name, Severity::kProblem, storage.failure, "name a folder on a local disk with --spill-dir"};
  }
  if (storage.in_memory) {
    check.verdict = Severity::kNote;
    check.found += ", on tmpfs, which is memory";
    check.advice = "name a folder on a disk with --spill-dir: here nothing is saved";
  } else if (storage.free < kLittle) {
    check.verdict = Severity::kNote;
    check.advice = "free some, or name another folder with --spill-dir: ResNet-50 with batch 16 spills 1 GiB";
  }
  return check;
}

Check check_direct(const StorageFacts& storage) {
  if (storage.direct) return {"O_DIRECT", Severity::kOk, "in force there", ""};
  return {
      "O_DIRECT", Severity::kNote, "refused by the file system there",
      "choose a folder on ext4 or xfs with --spill-dir: through the page cache transfers cost processor time and memory"};
}

Check check_speed(const StorageFacts& storage) {
  const BytesPerSecond slower = std::min(storage.read, storage.write);
  Check check{"spill speed", Severity::kOk,
              fmt::format("{} read, {} written, one request at a time: {}", format_bandwidth(storage.read),
                          format_bandwidth(storage.write), class_of(slower)),
              ""};
  if (slower < 200e6) {
    check.verdict = Severity::kNote;
    check.advice = "expect to wait for it, or choose another disk; sluice machine measures what it sustains";
  }
  return check;
}

Check check_file_size(const Bytes limit) {
  return {"file size limit", Severity::kNote, format_bytes(limit),
          "raise ulimit -f where the slow tier is to be larger"};
}

Check check_open_files(const std::int64_t limit) {
  constexpr std::int64_t kFew = 256;
  Check check{"open files", Severity::kOk, fmt::format("{} at once", limit), ""};
  if (limit >= kFew) return check;
  check.verdict = Severity::kNote;
  check.advice = "raise ulimit -n to 1024: sluice compare has pipes to a process of each planner";
  return check;
}

}  // namespace

std::vector<Check> check_storage(const StorageFacts& storage, const LimitFacts& limits) {
  std::vector<Check> checks{check_room(storage)};
  if (storage.failure.empty()) checks.push_back(check_direct(storage));
  if (storage.read > 0 && storage.write > 0) checks.push_back(check_speed(storage));
  if (limits.file_size) checks.push_back(check_file_size(*limits.file_size));
  if (limits.open_files) checks.push_back(check_open_files(*limits.open_files));
  return checks;
}

}  // namespace sluice::doctor

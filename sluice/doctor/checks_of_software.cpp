#include <fmt/format.h>

#include <algorithm>

#include "sluice/doctor/checks.hpp"

namespace sluice::doctor {
namespace {

Check check_onednn(const kernels::OneDnnFacts& onednn) {
  Check check{"oneDNN", Severity::kOk,
              fmt::format("{}, up to {}{}", onednn.version, onednn.instructions,
                          onednn.amx      ? " (AMX)"
                          : onednn.avx512 ? " (AVX-512)"
                                          : ""),
              ""};
  if (!onednn.allowed.empty()) {
    check.verdict = Severity::kNote;
    check.found += fmt::format("; ONEDNN_MAX_CPU_ISA is {}", onednn.allowed);
    check.advice = "unset it unless you compare instruction sets";
  } else if (!onednn.avx2) {
    check.verdict = Severity::kNote;
    check.advice = "expect slow steps: this processor, or the hypervisor, shows no AVX2";
  }
  return check;
}

// How many of the profiles `which` holds for.
template <typename Which>
std::ptrdiff_t count(const profile::CacheInventory& cache, const Which& which) {
  return std::ranges::count_if(cache.profiles, which);
}

std::string describe_cache(const profile::CacheInventory& cache) {
  std::size_t ops = 0;
  for (const profile::CachedProfile& each : cache.profiles) ops += each.ops;
  const auto own =
      count(cache, [](const profile::CachedProfile& each) { return each.of_this_machine && !each.stale(); });
  const auto others = count(cache, [](const profile::CachedProfile& each) { return !each.of_this_machine; });
  const auto stale = count(cache, [](const profile::CachedProfile& each) { return each.stale(); });
  return fmt::format("{}: {}, {} profiles: {} of this machine ({} op times), {} of others, {} stale",
                     cache.folder.string(), format_bytes(cache.bytes), cache.profiles.size(), own, ops, others, stale);
}

Check check_cache(const profile::CacheInventory& cache) {
  const std::string name = "profile cache";
  if (!cache.writable) {
    return {name, Severity::kNote, fmt::format("{} cannot be written", cache.folder.string()),
            "set XDG_CACHE_HOME or give --cache-dir: else every run measures anew"};
  }
  if (!cache.exists) return {name, Severity::kOk, fmt::format("{}: none yet", cache.folder.string()), ""};
  Check check{name, Severity::kOk, describe_cache(cache), ""};
  const auto useless = [](const profile::CachedProfile& each) { return each.stale() || !each.of_this_machine; };
  if (count(cache, useless) > 0) {
    std::string files;
    for (const profile::CachedProfile& each : cache.profiles) {
      if (useless(each)) files += fmt::format(" {}", each.path.filename().string());
    }
    check.verdict = Severity::kNote;
    check.advice = fmt::format("remove what no run here reads:{}", files);
  }
  return check;
}

Check check_age(const profile::CacheInventory& cache) {
  constexpr double kOldDays = 30;
  double oldest = 0;
  for (const profile::CachedProfile& each : cache.profiles) {
    if (each.of_this_machine && !each.stale()) oldest = std::max(oldest, each.days);
  }
  Check check{"age of op times", Severity::kOk, fmt::format("at most {:.1f} days", oldest), ""};
  if (oldest <= kOldDays) return check;
  check.verdict = Severity::kNote;
  check.advice = "measure again if kernel, firmware or clock have changed: remove this machine's file from the cache";
  return check;
}

Check check_gpu(const HostFacts& facts) {
  if (!facts.gpu) return {"GPU", Severity::kOk, fmt::format("none ({})", facts.no_gpu), ""};
  return {"GPU", Severity::kOk,
          fmt::format("{}, {} of {} free, driver for CUDA {}", facts.gpu->name, format_bytes(facts.gpu->free),
                      format_bytes(facts.gpu->capacity), facts.gpu->driver),
          "add --gpu to compute there"};
}

Check check_mpi(bool found) {
  if (found) return {"MPI", Severity::kOk, "Open MPI found", ""};
  return {"MPI", Severity::kNote, "no Open MPI", "install openmpi-bin to train with several processes"};
}

}  // namespace

std::vector<Check> check_software(const HostFacts& facts) {
  std::vector<Check> checks{check_onednn(facts.onednn), check_cache(facts.cache)};
  const auto own = [](const profile::CachedProfile& each) { return each.of_this_machine && !each.stale(); };
  if (count(facts.cache, own) > 0) checks.push_back(check_age(facts.cache));
  checks.push_back(check_gpu(facts));
  checks.push_back(check_mpi(facts.mpi));
  return checks;
}

}  // namespace sluice::doctor

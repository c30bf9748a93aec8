#include "sluice/base/limits/memory_allowance.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace sluice {
namespace {

constexpr Bytes kUnlimited = Bytes{1} << 60;

// The first number of statm: pages of addresses.
Bytes addresses_taken() {
  std::ifstream file("/proc/self/statm");
  Bytes pages = 0;
  file >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

std::optional<Bytes> address_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<Bytes>(std::min<rlim_t>(limit.rlim_cur, kUnlimited));
}

MemoryFigures read_figures() {
  MemoryFigures figures{
      .group = read_group_limits(), .addresses = address_limit(), .addresses_taken = addresses_taken()};
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) {
    figures.machine = static_cast<Bytes>(info.totalram) * info.mem_unit;
    figures.swap = static_cast<Bytes>(info.totalswap) * info.mem_unit;
  }
  return figures;
}

void lower(MemoryAllowance& allowance, Bytes bytes, std::string by) {
  if (bytes >= allowance.bytes) return;
  allowance = {std::max<Bytes>(0, bytes), std::max<Bytes>(0, bytes), std::move(by)};
}

}  // namespace

MemoryAllowance allowance_of(const MemoryFigures& figures) {
  MemoryAllowance allowance{figures.machine, figures.machine + figures.swap, ""};
  const GroupLimits& group = figures.group;
  if (group.memory) {
    const Bytes swap = std::min(figures.swap, group.swap.value_or(figures.swap));
    lower(allowance, *group.memory + swap - kOwnMemory,
          fmt::format("the control group, which allows {} of memory", format_bytes(*group.memory)));
  }
  if (figures.addresses) {
    lower(allowance, *figures.addresses - figures.addresses_taken - kOwnAddresses,
          fmt::format("ulimit -v, which allows {} of addresses", format_bytes(*figures.addresses)));
  }
  return allowance;
}

const MemoryAllowance& memory_allowance() {
  static const MemoryAllowance allowance = allowance_of(read_figures());
  return allowance;
}

Bytes addresses_left() {
  const std::optional<Bytes> limit = address_limit();
  return limit ? std::max<Bytes>(0, *limit - addresses_taken()) : kUnlimited;
}

}  // namespace sluice

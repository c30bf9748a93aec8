#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {
namespace {

constexpr Bytes kHugePage = 2 * kMiB;

// A page of addresses takes 8 bytes of page tables, whether its memory is somebody's already or not: so these take a
// quarter of the arena at most, or 2 MiB. Plans of ours have addresses for some times their memory.
constexpr Bytes kMostAddresses = 128;  // for a byte of the arena
constexpr Bytes kAddressesForAll = kGiB;
constexpr std::size_t kMostPieces = 60'000;  // of all stitches: a process may have 65,530 mappings

class StitchCheck {
 public:
  StitchCheck(const memory::Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
              Findings& findings)
      : machine_(machine), plan_(plan), extents_(extents), findings_(findings) {}

  void run() {
    if (plan_.stitches.empty()) return;
    if (!machine_.tiers.front().kind->can_stitch) {
      return fail(fmt::format("the memory of tier 0 '{}' cannot be stitched", machine_.tiers.front().name));
    }
    if (!check_number()) return;
    Bytes previous_end = plan_.arena_bytes.front();
    for (index_ = 0; index_ < plan_.stitches.size(); ++index_) {
      const Bytes bytes = check_pieces(plan_.stitches[index_].memory);
      previous_end = check_address(plan_.stitches[index_].address, bytes, previous_end);
      if (!findings_.empty()) return;  // what follows adds to addresses
    }
    for (const memory::Stitch& stitch : plan_.stitches) ends_.push_back(end_of(stitch));
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) check_within(i);
  }

 private:
  static Bytes end_of(const memory::Stitch& stitch) {
    Bytes end = stitch.address;
    for (const Interval<Bytes>& piece : stitch.memory) end += piece.length();
    return end;
  }

  bool check_number() {
    std::size_t pieces = 0;
    for (const memory::Stitch& stitch : plan_.stitches) pieces += stitch.memory.size();
    if (pieces <= kMostPieces) return true;
    fail(fmt::format("stitches of {} pieces: a process can map {}", pieces, kMostPieces));
    return false;
  }

  void fail(std::string message) { findings_.add(Rule::kWellFormed, kStepStart, std::move(message)); }

  // Returns the bytes of all.
  Bytes check_pieces(std::vector<Interval<Bytes>> pieces) {
    Bytes bytes = 0;
    std::ranges::sort(pieces);
    Bytes previous_end = 0;
    for (const Interval<Bytes>& piece : pieces) {
      const bool whole = piece.begin % verify::kPage == 0 && piece.end % verify::kPage == 0 && !piece.empty();
      if (!whole || piece.begin < previous_end || piece.end > plan_.arena_bytes.front()) {
        fail(fmt::format("stitch {}: bytes [{}, {}) are not pages of their own of the arena's {} bytes", index_,
                         piece.begin, piece.end, plan_.arena_bytes.front()));
        return 0;
      }
      previous_end = piece.end;
      bytes += piece.length();
    }
    if (bytes == 0) fail(fmt::format("stitch {} has no memory", index_));
    return bytes;
  }

  // Returns where it ends.
  Bytes check_address(Bytes address, Bytes bytes, Bytes previous_end) {
    if (address % verify::kPage != 0 || address < previous_end || address >= previous_end + kHugePage) {
      fail(fmt::format("stitch {}: address {} is not a multiple of {} that follows byte {} within {}", index_, address,
                       verify::kPage, previous_end, kHugePage));
      return previous_end;
    }
    const Bytes arena = plan_.arena_bytes.front();
    const Bytes most = arena + std::max(kMostAddresses * arena, kAddressesForAll);
    if (address + bytes <= most) return address + bytes;
    fail(fmt::format("stitch {}: ends at address {}, and an arena of {} bytes has {} at most", index_, address + bytes,
                     arena, most));
    return previous_end;
  }

  void check_within(std::size_t i) {
    const Residency& r = plan_.residencies[i];
    const Bytes end = r.offset + extents_[i].bytes;
    if (r.tier != memory::kFastTier || end <= plan_.stitches.front().address) return;
    const auto next = std::ranges::upper_bound(plan_.stitches, r.offset, {}, &memory::Stitch::address);
    if (next != plan_.stitches.begin()) {
      if (end <= ends_[as_index(std::prev(next) - plan_.stitches.begin())]) return;
    }
    findings_.add(Rule::kWellFormed, r.ops.begin,
                  fmt::format("residency {}: addresses [{}, {}) are neither within the arena nor within one stitch", i,
                              r.offset, end));
  }

  const memory::Machine& machine_;
  const Plan& plan_;
  const std::vector<verify::Extent>& extents_;  // by ResidencyIndex
  Findings& findings_;
  std::size_t index_ = 0;
  std::vector<Bytes> ends_;  // by stitch: the address behind it
};

}  // namespace

void check_stitches(const memory::Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
                    Findings& findings) {
  StitchCheck(machine, plan, extents, findings).run();
}

}  // namespace sluice::plan

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {
namespace {

constexpr Bytes kPage = 4096;

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
    Bytes previous_end = plan_.arena_bytes.front();
    for (index_ = 0; index_ < plan_.stitches.size(); ++index_) {
      const Bytes bytes = check_pieces(plan_.stitches[index_].memory);
      previous_end = check_address(plan_.stitches[index_].address, bytes, previous_end);
      if (!findings_.empty()) return;  // what follows adds to addresses
    }
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) check_within(i);
  }

 private:
  void fail(std::string message) { findings_.add(Rule::kWellFormed, kStepStart, std::move(message)); }

  // Returns the bytes of all.
  Bytes check_pieces(std::vector<Interval<Bytes>> pieces) {
    Bytes bytes = 0;
    std::ranges::sort(pieces);
    Bytes previous_end = 0;
    for (const Interval<Bytes>& piece : pieces) {
      const bool whole = piece.begin % kPage == 0 && piece.end % kPage == 0 && !piece.empty();
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
    const bool far = address > std::numeric_limits<Bytes>::max() - bytes;
    if (far || address % kPage != 0 || address < previous_end) {
      fail(fmt::format("stitch {}: address {} is not a multiple of {} behind byte {}", index_, address, kPage,
                       previous_end));
      return previous_end;
    }
    return address + bytes;
  }

  void check_within(std::size_t i) {
    const Residency& r = plan_.residencies[i];
    const Bytes end = r.offset + extents_[i].bytes;
    if (r.tier != memory::kFastTier || end <= plan_.stitches.front().address) return;
    const auto next = std::ranges::upper_bound(plan_.stitches, r.offset, {}, &memory::Stitch::address);
    if (next != plan_.stitches.begin()) {
      const memory::Stitch& stitch = *std::prev(next);
      Bytes stitch_end = stitch.address;
      for (const Interval<Bytes>& piece : stitch.memory) stitch_end += piece.length();
      if (end <= stitch_end) return;
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
};

}  // namespace

void check_stitches(const memory::Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
                    Findings& findings) {
  StitchCheck(machine, plan, extents, findings).run();
}

}  // namespace sluice::plan

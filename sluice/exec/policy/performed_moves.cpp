#include "sluice/exec/policy/performed_moves.hpp"

#include "sluice/memory/movers/range_mover.hpp"

namespace sluice::exec {
namespace {

class PerformedMoves final : public MoveDriver {
 public:
  PerformedMoves(const memory::Machine& machine, const memory::TierStorages& storages, Bytes page_bytes)
      : mover_(machine, storages, page_bytes), page_bytes_(page_bytes) {}

  Status before_op(std::span<const policies::Access> accesses, const policies::AccessCharge& /*charge*/,
                   const memory::MoveList& moves) override {
    ranges_.clear();
    for (const policies::Access& access : accesses) {
      ranges_.push_back({align_down(access.bytes.begin, page_bytes_), align_up(access.bytes.end, page_bytes_)});
    }
    for (const memory::RangeMove& move : moves.moves()) ranges_.push_back(move.bytes);
    SLUICE_RETURN_IF_ERROR(mover_.wait_for(ranges_));
    return moves.empty() ? Status() : mover_.perform(moves);
  }

  void after_op(Seconds /*seconds*/, const policies::AccessCharge& /*charge*/) override {}
  void begin(const memory::MoveList& moves) override { mover_.begin(moves); }
  Status end_step() override { return {}; }

  std::string note() const override { return "moves pages of the step's own data, between ops and beside them"; }

 private:
  memory::RangeMover mover_;
  Bytes page_bytes_;
  std::vector<Interval<Bytes>> ranges_;  // of the op
};

}  // namespace

std::unique_ptr<MoveDriver> perform_moves_for_real(const memory::Machine& machine, const memory::TierStorages& storages,
                                                   Bytes page_bytes) {
  return std::make_unique<PerformedMoves>(machine, storages, page_bytes);
}

}  // namespace sluice::exec

#include "sluice/exec/policy/emulated_moves.hpp"

#include <algorithm>

#include "sluice/base/check.hpp"
#include "sluice/base/clock.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/exec/delay_injector.hpp"
#include "sluice/exec/policy/policy_copies.hpp"
#include "sluice/policies/charge.hpp"

namespace sluice::exec {
namespace {

class EmulatedMoves final : public MoveDriver {
 public:
  EmulatedMoves(const memory::Machine& machine, std::unique_ptr<PageCopies> copies)
      : machine_(machine), copies_(std::move(copies)), slow_delays_(machine.threads), waits_(machine.threads) {}

  Status before_op(std::span<const policies::Access> /*accesses*/, const policies::AccessCharge& charge,
                   const memory::MoveList& moves) override {
    std::vector<Bytes> link_bytes;
    memory::add_to_links(machine_, moves, link_bytes);
    const Clock::time_point begin = Clock::now();
    const Seconds wait = policies::wait_seconds(machine_, link_bytes, charge.fault_seconds);
    if (wait <= 0) return {};
    const memory::Copied bytes = memory::copied_by(moves);
    told_ += bytes;
    copies_->copy_now(bytes.in, bytes.out);
    waits_.add(std::max(0.0, wait - seconds_since(begin)));
    return {};
  }

  void after_op(Seconds seconds, const policies::AccessCharge& charge) override {
    slow_delays_.add(profile::op_seconds_with(seconds, policies::slow_seconds(machine_, charge)) - seconds);
  }

  void begin(const memory::MoveList& moves) override {
    const memory::Copied bytes = memory::copied_by(moves);
    told_ += bytes;
    copies_->submit(bytes.in, bytes.out);
  }

  Status end_step() override {
    slow_delays_.settle();
    waits_.settle();
    copies_->drain();
    SLUICE_CHECK((memory::Copied{copies_->copied_in(), copies_->copied_out()} == told_),
                 "as many bytes are copied as the policy said");
    return {};
  }

  std::string note() const override {
    return "is emulated: data stay in fast memory, its copies and delays are added to the step";
  }

 private:
  memory::Machine machine_;
  std::unique_ptr<PageCopies> copies_;
  DelayInjector slow_delays_;
  DelayInjector waits_;
  memory::Copied told_;  // since the object was made
};

}  // namespace

Result<std::unique_ptr<MoveDriver>> emulate_moves(const memory::Machine& machine, int copy_threads) {
  SLUICE_ASSIGN(auto copies,
                PageCopies::create(machine.threads, std::min(copy_threads, processor_count()),
                                   machine.link(*machine.link_between(policies::kSlowTier, memory::kFastTier)),
                                   machine.link(*machine.link_between(memory::kFastTier, policies::kSlowTier))));
  return std::unique_ptr<MoveDriver>(std::make_unique<EmulatedMoves>(machine, std::move(copies)));
}

}  // namespace sluice::exec

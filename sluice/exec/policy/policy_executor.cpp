#include "sluice/exec/policy/policy_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "sluice/base/as_index.hpp"
#include "sluice/base/clock.hpp"
#include "sluice/exec/delay_injector.hpp"
#include "sluice/exec/policy/policy_copies.hpp"
#include "sluice/policies/charge.hpp"
#include "sluice/policies/step_accesses.hpp"

namespace sluice::exec {
namespace {

// The policy between the executor of the program and its caller.
class ObservingExecutor final : public PolicyExecutor, private OpObserver {
 public:
  ObservingExecutor(std::unique_ptr<Executor> inner, policies::StepAccesses accesses, const memory::Machine& machine,
                    policies::PolicyTiers tiers, std::unique_ptr<policies::Policy> policy,
                    std::unique_ptr<PageCopies> copies, std::string note)
      : inner_(std::move(inner)),
        accesses_(std::move(accesses)),
        machine_(machine),
        tiers_(tiers),
        policy_(std::move(policy)),
        copies_(std::move(copies)),
        note_(std::move(note)),
        slow_delays_(machine.threads),
        waits_(machine.threads),
        ops_(accesses_.ops.size()) {
    policy_->access(accesses_.initial, 0);
    inner_->observe(this);
  }

  Result<program::StepTimes> run_step(const kernels::StepContext& context) override {
    last_.ops.clear();
    last_.charge = {};
    last_.background = {};
    bookkeeping_ = 0;
    const Bytes copied_in_before = copies_->copied_in();
    const Bytes copied_out_before = copies_->copied_out();
    step_begin_ = Clock::now();
    SLUICE_ASSIGN(program::StepTimes trace, inner_->run_step(context));
    const Clock::time_point tail_begin = Clock::now();
    slow_delays_.settle();
    waits_.settle();
    copies_->drain();
    const Seconds tail = seconds_since(tail_begin);
    policy_seconds_ = now();
    amend(trace, tail);
    SLUICE_CHECK(copies_->copied_in() - copied_in_before == bytes_in() &&
                     copies_->copied_out() - copied_out_before == bytes_out(),
                 "as many bytes are copied as the policy said");
    return trace;
  }

  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override {
    return inner_->read_tensor(tensor, bytes);
  }
  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override {
    return inner_->write_tensor(tensor, bytes);
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = inner_->notes();
    notes.push_back(note_);
    return notes;
  }

  const ExecutedCharges& last_step() const override { return last_; }
  std::vector<std::pair<std::string, double>> figures() const override { return policy_->figures(); }

 private:
  struct OpTimes {
    Seconds stall = 0;
    Seconds bookkeeping_behind = 0;  // of the step, up to and with this op
  };

  // Copied in the step.
  Bytes bytes_in() const { return last_.charge.copied_in + last_.background.in; }
  Bytes bytes_out() const { return last_.charge.copied_out + last_.background.out; }

  // The policy's clock.
  Seconds now() const { return policy_seconds_ + seconds_since(step_begin_) - bookkeeping_; }

  template <typename Work>
  auto outside_of_time(const Work& work) {
    const Clock::time_point begin = Clock::now();
    auto result = work();
    bookkeeping_ += seconds_since(begin);
    return result;
  }

  Status before_op(graph::OpIndex op, std::span<void* const> /*operands*/) override {
    const Seconds asked = now();
    charge_ = outside_of_time([&] { return policies::charge_op(*policy_, accesses_, op, asked); });
    last_.charge += charge_;
    last_.ops.push_back(charge_);
    const Clock::time_point begin = Clock::now();
    if (const Seconds wait = policies::wait_seconds(machine_, tiers_, charge_); wait > 0) {
      copies_->copy_now(charge_.copied_in, charge_.copied_out);
      waits_.add(std::max(0.0, wait - seconds_since(begin)));
    }
    ops_[as_index(op)].stall = seconds_since(begin);
    op_begin_ = now();
    return {};
  }

  void after_op(graph::OpIndex op) override {
    const Seconds in_fast = now() - op_begin_;
    slow_delays_.add(profile::op_seconds_with(in_fast, policies::slow_seconds(machine_, tiers_.slow, charge_)) -
                     in_fast);
    const Seconds end = now();
    const policies::BackgroundWork work = outside_of_time([&] { return policy_->advance(op_begin_, end); });
    last_.background.in += work.in;
    last_.background.out += work.out;
    copies_->submit(work.in, work.out);
    ops_[as_index(op)].bookkeeping_behind = bookkeeping_;
  }

  // The inner executor knows neither of stalls nor of time that does not count: both are in its ops' spans.
  void amend(program::StepTimes& trace, Seconds tail) const {
    Seconds bookkeeping_before = 0;
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      trace.ops[op].begin += ops_[op].stall - bookkeeping_before;
      trace.ops[op].end -= ops_[op].bookkeeping_behind;
      trace.stalls[op] += ops_[op].stall;
      trace.stall_seconds += ops_[op].stall;
      bookkeeping_before = ops_[op].bookkeeping_behind;
    }
    trace.step_seconds += tail - bookkeeping_;
    trace.stall_seconds += tail;
    trace.link_bytes.assign(machine_.links.size(), 0);
    trace.link_bytes[as_index(tiers_.inward)] = bytes_in();
    trace.link_bytes[as_index(tiers_.outward)] = bytes_out();
    trace.raw_link_bytes = trace.link_bytes;
  }

  std::unique_ptr<Executor> inner_;
  policies::StepAccesses accesses_;
  memory::Machine machine_;
  policies::PolicyTiers tiers_;
  std::unique_ptr<policies::Policy> policy_;
  std::unique_ptr<PageCopies> copies_;
  std::string note_;
  DelayInjector slow_delays_;
  DelayInjector waits_;
  std::vector<OpTimes> ops_;  // of the running step
  ExecutedCharges last_;
  policies::AccessCharge charge_;  // of the running op
  Seconds op_begin_ = 0;           // by the policy's clock
  Seconds policy_seconds_ = 0;     // at the begin of the step
  Seconds bookkeeping_ = 0;        // of the running step
  Clock::time_point step_begin_;
};

Status check_fast_only(const program::Program& program, std::string_view policy) {
  const auto is_fast = [](const program::Location& location) { return location.tier == memory::kFastTier; };
  const bool fast = program.transfers.empty() && std::ranges::all_of(program.compute, [&](const auto& instruction) {
                      return std::ranges::all_of(instruction.operands, is_fast);
                    });
  if (fast) return {};
  return Error{ErrorCode::kMismatch, fmt::format("policy {} decides as it goes and runs with a plan that keeps "
                                                 "everything in fast memory; this one moves tensors: use fast-only's",
                                                 policy)};
}

}  // namespace

Result<policies::PolicyTiers> check_policy_run(const memory::Machine& machine, const policies::PolicyEntry& entry) {
  SLUICE_ASSIGN(const policies::PolicyTiers tiers, policies::find_policy_tiers(entry, machine));
  const memory::Tier& slow = machine.tier(tiers.slow);
  if (slow.emulated()) return tiers;
  return Error{ErrorCode::kUnsupported,
               fmt::format("policy {} runs on emulated slow memory only, and tier '{}' is real; name an emulated one "
                           "(--slow optane or --slow pmbd), or predict it with sluice simulate",
                           entry.name, slow.name)};
}

Result<std::unique_ptr<PolicyExecutor>> PolicyExecutor::create(kernels::CompiledGraph& compiled,
                                                               const memory::Machine& machine, program::Program program,
                                                               std::span<const Bytes> budgets,
                                                               const policies::ChosenPages& chosen) {
  SLUICE_ASSIGN(const policies::PolicyTiers tiers, check_policy_run(machine, *chosen.entry));
  SLUICE_RETURN_IF_ERROR(check_fast_only(program, chosen.entry->name));
  const graph::Liveness liveness = graph::analyze_liveness(compiled.graph());
  const layout::PageLayout layout = layout::allocation_order_layout(compiled.graph(), liveness);
  const policies::PolicyMemory memory = policies::policy_memory(machine, tiers, chosen.fast_bytes, layout.bytes);
  SLUICE_ASSIGN(auto policy, policies::make_policy(*chosen.entry, memory, chosen.tuning));
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  SLUICE_ASSIGN(auto copies, PageCopies::create(machine.threads, std::min(chosen.tuning.copy_threads, cores),
                                                machine.link(tiers.inward), machine.link(tiers.outward)));
  const profile::OpTraffic traffic(compiled.graph(), machine.cache_bytes);
  SLUICE_ASSIGN(auto inner, Executor::create(compiled, machine, std::move(program), budgets));
  return std::unique_ptr<PolicyExecutor>(std::make_unique<ObservingExecutor>(
      std::move(inner), policies::step_accesses(compiled.graph(), liveness, layout, traffic), machine, tiers,
      std::move(policy), std::move(copies),
      fmt::format("{} is emulated: data stay in fast memory, its copies and delays are added to the step",
                  chosen.entry->name)));
}

}  // namespace sluice::exec

#include "sluice/exec/policy/policy_executor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/clock.hpp"
#include "sluice/exec/policy/address_space.hpp"
#include "sluice/exec/policy/emulated_moves.hpp"
#include "sluice/exec/policy/performed_moves.hpp"
#include "sluice/memory/movers/range_mover.hpp"
#include "sluice/policies/step_accesses.hpp"

namespace sluice::exec {
namespace {

// What runs under a policy, and with whom.
struct PolicyRun {
  std::unique_ptr<Executor> inner;
  policies::StepAccesses accesses;
  layout::PageLayout layout;
  std::unique_ptr<policies::Policy> policy;
  std::unique_ptr<MoveDriver> driver;
  bool emulated = false;
};

// The policy between the executor of the program and its caller.
class ObservingExecutor final : public PolicyExecutor, private OpObserver {
 public:
  ObservingExecutor(PolicyRun run, const memory::Machine& machine, std::string_view policy)
      : run_(std::move(run)), machine_(machine), policy_name_(policy), ops_(run_.accesses.ops.size()) {
    // Where pages are moved, the tensors are touched as they are written.
    memory::MoveList placed;
    if (run_.emulated) run_.policy->access(run_.accesses.initial, 0, placed);
    run_.inner->observe(this);
  }

  Result<program::StepTimes> run_step(const kernels::StepContext& context) override {
    last_ = {};
    link_bytes_.assign(machine_.links.size(), 0);
    bookkeeping_ = 0;
    step_begin_ = Clock::now();
    SLUICE_ASSIGN(program::StepTimes trace, run_.inner->run_step(context));
    const Clock::time_point tail_begin = Clock::now();
    SLUICE_RETURN_IF_ERROR(run_.driver->end_step());
    const Seconds tail = seconds_since(tail_begin);
    policy_seconds_ = now();
    amend(trace, tail);
    return trace;
  }

  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override {
    SLUICE_RETURN_IF_ERROR(bring(tensor, bytes.size(), {.reads = true}));
    return run_.inner->read_tensor(tensor, bytes);
  }
  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override {
    SLUICE_RETURN_IF_ERROR(bring(tensor, bytes.size(), {.writes = true}));
    return run_.inner->write_tensor(tensor, bytes);
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = run_.inner->notes();
    notes.push_back(fmt::format("{} {}", policy_name_, run_.driver->note()));
    return notes;
  }

  const ExecutedCharges& last_step() const override { return last_; }
  std::vector<std::pair<std::string, double>> figures() const override { return run_.policy->figures(); }

 private:
  struct OpTimes {
    Seconds stall = 0;
    Seconds bookkeeping_behind = 0;  // of the step, up to and with this op
  };

  // The policy's clock.
  Seconds now() const { return policy_seconds_ + seconds_since(step_begin_) - bookkeeping_; }

  // Asks the policy.
  template <typename Question>
  void ask(const Question& question) {
    const Clock::time_point begin = Clock::now();
    moves_.clear();
    question();
    if (run_.emulated) bookkeeping_ += seconds_since(begin);
  }

  // Between steps: a tensor that is read or written is an access like any other.
  Status bring(graph::TensorId tensor, std::size_t size, policies::Access access) {
    const auto bytes = static_cast<Bytes>(size);
    const Bytes offset = run_.layout.offsets[tensor];
    if (run_.emulated || offset == layout::kUnplaced) return {};
    access.bytes = {offset, offset + bytes};
    moves_.clear();
    const policies::AccessCharge charge = run_.policy->access(std::span(&access, 1), policy_seconds_, moves_);
    return run_.driver->before_op(std::span(&access, 1), charge, moves_);
  }

  Status before_op(graph::OpIndex op, std::span<void* const> /*operands*/) override {
    const Seconds asked = now();
    ask([&] { charge_ = policies::charge_op(*run_.policy, run_.accesses, op, asked, moves_); });
    last_.charge += charge_;
    last_.ops.push_back(charge_);
    last_.before += memory::copied_by(moves_);
    memory::add_to_links(machine_, moves_, link_bytes_);
    const Clock::time_point begin = Clock::now();
    SLUICE_RETURN_IF_ERROR(run_.driver->before_op(run_.accesses.ops[as_index(op)], charge_, moves_));
    ops_[as_index(op)].stall = seconds_since(begin);
    op_begin_ = now();
    return {};
  }

  void after_op(graph::OpIndex op) override {
    run_.driver->after_op(now() - op_begin_, charge_);
    const Seconds end = now();
    ask([&] { run_.policy->advance(op_begin_, end, moves_); });
    last_.beside += memory::copied_by(moves_);
    memory::add_to_links(machine_, moves_, link_bytes_);
    run_.driver->begin(moves_);
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
    trace.link_bytes = trace.raw_link_bytes = link_bytes_;
  }

  PolicyRun run_;
  memory::Machine machine_;
  std::string policy_name_;
  std::vector<OpTimes> ops_;  // of the running step
  ExecutedCharges last_;
  std::vector<Bytes> link_bytes_;  // of the running step
  policies::AccessCharge charge_;  // of the running op
  memory::MoveList moves_;         // that were decided last
  Seconds op_begin_ = 0;           // by the policy's clock
  Seconds policy_seconds_ = 0;     // at the begin of the step
  Seconds bookkeeping_ = 0;        // of the running step: not to count
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

bool is_emulated(const memory::Machine& machine) { return machine.tier(policies::kSlowTier).emulated(); }

}  // namespace

Status check_policy_run(const memory::Machine& machine, const policies::PolicyEntry& entry) {
  SLUICE_RETURN_IF_ERROR(policies::check_policy_tiers(entry, machine));
  const std::string& slow = machine.tier(policies::kSlowTier).name;
  if (is_emulated(machine)) {
    if (machine.tiers.size() == 2) return {};
    return Error{ErrorCode::kUnsupported,
                 fmt::format("policy {} runs with one emulated tier, and this machine has more; "
                             "predict it with sluice simulate",
                             entry.name)};
  }
  if (entry.pages->in_hardware) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("policy {} is the hardware's, and tier '{}' is real; name an emulated one (--slow optane or "
                    "--slow pmbd), or predict it with sluice simulate",
                    entry.name, slow)};
  }
  if (const Status movable = memory::check_movable(machine); !movable.ok()) {
    return Error{movable.error().code,
                 fmt::format("policy {}: {}; name an emulated tier (--slow optane or --slow pmbd), or predict it with "
                             "sluice simulate",
                             entry.name, movable.error().message)};
  }
  return {};
}

Result<std::unique_ptr<PolicyExecutor>> PolicyExecutor::create(kernels::CompiledGraph& compiled,
                                                               const memory::Machine& machine, program::Program program,
                                                               std::span<const Bytes> budgets,
                                                               const policies::ChosenPages& chosen) {
  SLUICE_RETURN_IF_ERROR(check_policy_run(machine, *chosen.entry));
  SLUICE_RETURN_IF_ERROR(check_fast_only(program, chosen.entry->name));
  const graph::Graph& graph = compiled.graph();
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  PolicyRun run{.layout = layout::allocation_order_layout(graph, liveness), .emulated = is_emulated(machine)};
  run.accesses = policies::step_accesses(graph, liveness, run.layout, profile::OpTraffic(graph, machine.cache_bytes));
  SLUICE_ASSIGN(run.policy, policies::make_policy(*chosen.entry,
                                                  policies::policy_memory(machine, chosen.fast_bytes, run.layout.bytes),
                                                  chosen.tuning));
  if (run.emulated) {
    SLUICE_ASSIGN(run.driver, emulate_moves(machine, chosen.tuning.copy_threads));
    SLUICE_ASSIGN(run.inner, Executor::create(compiled, machine, std::move(program), budgets));
  } else {
    SLUICE_RETURN_IF_ERROR(check_ops_fit(graph, run.accesses, chosen));
    const SpaceProgram space =
        in_address_space(std::move(program), graph, run.layout, machine, chosen.tuning.page_bytes);
    auto memory = std::make_shared<RunMemory>(space.machine);
    SLUICE_RETURN_IF_ERROR(
        memory->change_to(kept_elsewhere(compiled), {graph, space.program, space.program.arena_bytes}));
    run.driver = perform_moves_for_real(machine, memory->storages(), chosen.tuning.page_bytes);
    SLUICE_ASSIGN(run.inner, Executor::create(std::move(memory), space.program));
  }
  return std::unique_ptr<PolicyExecutor>(
      std::make_unique<ObservingExecutor>(std::move(run), machine, chosen.entry->name));
}

}  // namespace sluice::exec

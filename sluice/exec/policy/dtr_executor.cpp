#include "sluice/exec/policy/dtr_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/clock.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"

namespace sluice::exec {
namespace {

class RematerializingExecutor final : public DtrExecutor, private policies::DtrDriver {
 public:
  RematerializingExecutor(const graph::Graph& graph, policies::Dtr dtr, std::unique_ptr<kernels::CompiledGraph> kernels,
                          memory::TierStorages storages, std::size_t links)
      : graph_(graph), dtr_(std::move(dtr)), kernels_(std::move(kernels)), storages_(std::move(storages)) {
    trace_.ops.resize(graph.ops().size());
    trace_.stalls.resize(graph.ops().size());
    trace_.link_bytes.resize(links);
    trace_.raw_link_bytes.resize(links);
  }

  Result<program::StepTimes> run_step(const kernels::StepContext& context) override {
    SLUICE_RETURN_IF_ERROR(usable_);
    // Until the step has ended well: an exception from an op leaves the tensors as undefined as an error does.
    usable_ = Error{ErrorCode::kIo, "a step of this executor was abandoned: make a new executor from a checkpoint"};
    context_ = &context;
    step_begin_ = Clock::now();
    Result<policies::DtrStep> done = dtr_.run_step(*this);
    trace_.step_seconds = now();
    if (!done.ok()) {
      usable_ = Error{done.error().code,
                      "an earlier step failed, make a new executor from a checkpoint: " + done.error().message};
      return done.error();
    }
    usable_ = {};
    last_ = *done;
    all_.evictions += last_.evictions;
    all_.runs_again += last_.runs_again;
    return trace_;
  }

  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override {
    SLUICE_ASSIGN(const Bytes offset, place_between_steps(tensor, bytes.size()));
    return storages_.read(memory::kFastTier, offset, bytes);
  }

  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override {
    SLUICE_ASSIGN(const Bytes offset, place_between_steps(tensor, bytes.size()));
    return storages_.write(memory::kFastTier, offset, bytes);
  }

  std::vector<std::string> notes() const override { return storages_.notes(); }
  const policies::DtrStep& last_step() const override { return last_; }
  std::vector<std::pair<std::string, double>> figures() const override { return policies::figures_of(all_); }

 private:
  Result<Seconds> run(graph::OpIndex slot, std::span<const Bytes> operands) override {
    pointers_.clear();
    for (const Bytes offset : operands) pointers_.push_back(storages_.base(memory::kFastTier) + offset);
    const Seconds begin = now();
    const Status status = kernels_->run(slot, pointers_, *context_);
    const Seconds end = now();
    if (!status.ok()) {
      const graph::Op& op = kernels_->graph().op(slot);
      return Error{status.error().code, fmt::format("op {} ({}) failed: {}", dtr_.kernels().op_of[as_index(slot)],
                                                    op.name, status.error().message)};
    }
    if (dtr_.values().is_first(slot)) trace_.ops[as_index(dtr_.kernels().op_of[as_index(slot)])] = {begin, end};
    return end - begin;
  }

  Seconds move(Bytes from, Bytes to, Bytes bytes) override {
    const Seconds begin = now();
    std::byte* base = storages_.base(memory::kFastTier);
    std::memmove(base + to, base + from, as_index(bytes));
    return now() - begin;
  }

  Seconds now() const { return std::chrono::duration<Seconds>(Clock::now() - step_begin_).count(); }

  Result<Bytes> place_between_steps(graph::TensorId tensor, std::size_t bytes) const {
    SLUICE_RETURN_IF_ERROR(usable_);
    const graph::Tensor& description = graph_.tensor(tensor);
    SLUICE_CHECK(graph::is_persistent(description.role) || description.role == graph::Role::kOutput,
                 description.name + " is nowhere between steps: neither persistent nor an output");
    SLUICE_CHECK(static_cast<Bytes>(bytes) == description.bytes, "a buffer of the size of " + description.name);
    const std::optional<Bytes> offset = dtr_.offset_of(tensor);
    SLUICE_CHECK(offset.has_value(), description.name + " is there once a step has made it");
    return *offset;
  }

  const graph::Graph& graph_;
  policies::Dtr dtr_;
  std::unique_ptr<kernels::CompiledGraph> kernels_;  // of Dtr::kernels()
  memory::TierStorages storages_;
  std::vector<void*> pointers_;  // of the running op
  const kernels::StepContext* context_ = nullptr;
  Clock::time_point step_begin_;
  program::StepTimes trace_;  // of the running step
  policies::DtrStep last_;
  policies::DtrStep all_;  // counts of all steps
  Status usable_;
};

Status check_processors(const graph::Graph& graph, const memory::Machine& machine) {
  const bool elsewhere =
      std::ranges::any_of(graph.ops(), [](const graph::Op& op) { return op.processor != kMainProcessor; });
  if (!elsewhere && machine.tier(memory::kFastTier).kind->host_reaches) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("{} runs a step on the main processor of a host alone; leave out {}", policies::kDtrName,
                           elsewhere ? "the other processors" : "--gpu")};
}

}  // namespace

Result<std::unique_ptr<DtrExecutor>> DtrExecutor::create(kernels::CompiledGraph& compiled,
                                                         const memory::Machine& machine, Bytes fast_bytes) {
  SLUICE_RETURN_IF_ERROR(check_processors(compiled.graph(), machine));
  SLUICE_ASSIGN(policies::Dtr dtr, policies::Dtr::create(compiled.graph(), fast_bytes));
  std::unique_ptr<kernels::CompiledGraph> kernels = compiled.rescheduled(dtr.kernels());
  SLUICE_ASSIGN(memory::TierStorages storages,
                memory::TierStorages::open(machine, std::vector{align_down(fast_bytes, memory::kBlockAlignment)}));
  return std::unique_ptr<DtrExecutor>(std::make_unique<RematerializingExecutor>(
      compiled.graph(), std::move(dtr), std::move(kernels), std::move(storages), machine.links.size()));
}

}  // namespace sluice::exec

#include "sluice/exec/executor.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/exec/compute_lane.hpp"
#include "sluice/exec/encoded_transfers.hpp"
#include "sluice/exec/gpu_executor.hpp"
#include "sluice/exec/lane.hpp"
#include "sluice/exec/progress.hpp"
#include "sluice/exec/resolved_program.hpp"

namespace sluice::exec {
namespace {

class ProgramExecutor : public Executor {
 public:
  ProgramExecutor(std::shared_ptr<RunMemory> memory, program::Program program)
      : memory_(std::move(memory)),
        compiled_(*memory_->compiled()),
        machine_(memory_->machine()),
        program_(std::move(program)),
        storages_(memory_->storages()),
        resolved_(resolve_program(compiled_.graph(), machine_, program_, storages_)),
        encoded_(compiled_.graph(), program_),
        ops_of_(program::compute_lanes(program_)),
        progress_(processors_of_ops(program_), ops_of_.size(), program_.transfers.size(), lane_count(program_)) {
    trace_.ops.resize(program_.compute.size());
    trace_.stalls.resize(program_.compute.size());
    trace_.transfers.resize(program_.transfers.size());
    trace_.raw_link_bytes = resolved_.link_bytes;
  }

  ~ProgramExecutor() override { stop_lanes(); }

  Status start_lanes(const EngineFactory& engine_factory) {
    const LaneContext context{compiled_.graph(), machine_, program_, progress_, trace_.transfers};
    for (std::size_t link = 0; link < program_.lanes.size(); ++link) {
      if (program_.lanes[link].empty()) continue;
      const auto id = as_id<memory::LinkId>(link);
      SLUICE_ASSIGN(auto engine, engine_factory(machine_, id, storages_));
      engine = encoded_.around(std::move(engine), id, machine_, storages_);
      lanes_.push_back(std::make_unique<Lane>(lanes_.size(), id, std::move(engine), context));
    }
    const ComputeContext computing{compiled_, machine_, program_, resolved_, ops_of_,
                                   progress_, trace_,   lanes_,   step_,     observer_};
    for (ProcessorId id = 0; id < as_id<ProcessorId>(ops_of_.size()); ++id) {
      processors_.push_back(std::make_unique<ComputeLane>(id, computing));
    }
    for (const auto& lane : lanes_) lane->start();
    for (std::size_t other = 1; other < processors_.size(); ++other) processors_[other]->start();
    return {};
  }

  Result<program::StepTimes> run_step(const kernels::StepContext& context) override {
    SLUICE_RETURN_IF_ERROR(memory_->usable());
    // Until the step has ended well: an exception from an op leaves the tensors as undefined as an error does.
    memory_->spoil({ErrorCode::kIo, "a step of this executor was abandoned: make a new executor from a checkpoint"});
    const Status status = run_instructions(context);
    for (const auto& lane : lanes_) lane->expect_help(false);
    if (!status.ok()) {
      stop_lanes();
      memory_->spoil({status.error().code,
                      "an earlier step failed, make a new executor from a checkpoint: " + status.error().message});
      return status.error();
    }
    memory_->mend();
    count_moved_bytes();
    return trace_;
  }

  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override {
    return memory_->read_tensor(tensor, bytes);
  }
  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override {
    return memory_->write_tensor(tensor, bytes);
  }

  void observe(OpObserver* observer) override { observer_ = observer; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> all = storages_.notes();
    for (const auto& lane : lanes_) {
      for (std::string& note : lane->notes()) {
        if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(std::move(note));
      }
    }
    return all;
  }

 private:
  static std::vector<ProcessorId> processors_of_ops(const program::Program& program) {
    std::vector<ProcessorId> processors;
    for (const program::ComputeInstruction& instruction : program.compute) processors.push_back(instruction.processor);
    return processors;
  }

  static std::size_t lane_count(const program::Program& program) {
    return as_index(
        std::count_if(program.lanes.begin(), program.lanes.end(), [](const auto& lane) { return !lane.empty(); }));
  }

  void count_moved_bytes() {
    trace_.link_bytes.assign(machine_.links.size(), 0);
    for (std::size_t i = 0; i < encoded_.moved().size(); ++i) {
      trace_.link_bytes[as_index(program_.transfers[i].link)] += encoded_.moved()[i];
    }
  }

  Status run_instructions(const kernels::StepContext& context) {
    step_ = &context;
    trace_.stall_seconds = 0;
    progress_.begin_step();
    try {
      return processors_.front()->run_step();
    } catch (...) {
      stop_lanes();  // other processors use what the caller will take away
      throw;
    }
  }

  void stop_lanes() {
    progress_.stop();
    for (const auto& processor : processors_) processor->join();
    for (const auto& lane : lanes_) lane->join();
  }

  std::shared_ptr<RunMemory> memory_;
  kernels::CompiledGraph& compiled_;
  const memory::Machine& machine_;
  program::Program program_;
  const memory::TierStorages& storages_;
  ResolvedProgram resolved_;
  EncodedTransfers encoded_;
  std::vector<std::vector<graph::OpIndex>> ops_of_;  // by ProcessorId
  Progress progress_;
  OpObserver* observer_ = nullptr;
  const kernels::StepContext* step_ = nullptr;  // of the running step
  program::StepTimes trace_;                    // of the running step; lanes write their transfers' entries
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<ComputeLane>> processors_;  // by ProcessorId
};

}  // namespace

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<RunMemory> memory, program::Program program,
                                                   const EngineFactory& engine_factory) {
  if (!memory->machine().tier(memory::kFastTier).kind->host_reaches) {
    return make_gpu_executor(std::move(memory), std::move(program));
  }
  auto executor = std::make_unique<ProgramExecutor>(std::move(memory), std::move(program));
  SLUICE_RETURN_IF_ERROR(executor->start_lanes(engine_factory));
  return std::unique_ptr<Executor>(std::move(executor));
}

Result<std::unique_ptr<Executor>> Executor::create(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                                   program::Program program, std::span<const Bytes> budgets,
                                                   const EngineFactory& engine_factory) {
  auto memory = std::make_shared<RunMemory>(machine);
  SLUICE_RETURN_IF_ERROR(memory->change_to(kept_elsewhere(compiled), {compiled.graph(), program, budgets}));
  return create(std::move(memory), std::move(program), engine_factory);
}

}  // namespace sluice::exec

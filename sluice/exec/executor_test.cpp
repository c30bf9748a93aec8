// The executor on one small program written by hand: what it records, waits for, injects and refuses. That it computes
// the right bits for any plan is in same_bits_test.cpp.
#include "sluice/exec/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/failing_engine.hpp"
#include "sluice/testing/lane_order.hpp"
#include "sluice/testing/mixing_graph.hpp"

namespace sluice::exec {
namespace {

using ::testing::HasSubstr;

constexpr memory::TierId kSlowTier = 1;
constexpr memory::LinkId kEvict = 0;
constexpr memory::LinkId kPrefetch = 1;
constexpr Bytes kMovedBytes = kMiB;
constexpr BytesPerSecond kLinkBandwidth = 100e6;
constexpr Seconds kTransferSeconds = kMovedBytes / kLinkBandwidth;  // 10.5 ms
constexpr Seconds kOpSeconds = 2e-3;

//   op              0: p -> x      1: p -> loss      2: loss, x, p -> p
//   fast place 0    |--p----------------------------------------------|
//   fast place 1    |--x---------| |--loss----------------------------|
//   fast place 2                                    |--x--------------|
//   slow place 0    p between steps
//   slow place 1                   |--x-------------------------------|
//   transfers    0: fetch p    1: evict x    2: fetch x              3: evict p
struct Fixture {
  Fixture() {
    for (const auto& [name, role] :
         {std::pair("p", graph::Role::kParameter), {"x", graph::Role::kActivation}, {"loss", graph::Role::kOutput}}) {
      graph::Tensor tensor;
      tensor.name = name;
      tensor.role = role;
      tensor.shape = {kMovedBytes / 4};
      graph.add_tensor(tensor);
    }
    add_op("forward", {p}, {x});
    add_op("loss_of_p", {p}, {loss});
    add_op("update", {loss, x, p}, {p});

    machine.threads = 1;
    for (const char* name : {"dram", "slow"}) {
      memory::Tier tier;
      tier.name = name;
      tier.kind = machine.tiers.empty() ? memory::TierKind::kDram : memory::TierKind::kEmulated;
      tier.capacity = kGiB;
      tier.read_bandwidth = tier.write_bandwidth = 50e9;
      machine.tiers.push_back(tier);
    }
    machine.links = {throttled(memory::kFastTier, kSlowTier), throttled(kSlowTier, memory::kFastTier)};

    const program::Location fast0{memory::kFastTier, 0};
    const program::Location fast1{memory::kFastTier, kMovedBytes};
    const program::Location fast2{memory::kFastTier, 2 * kMovedBytes};
    const program::Location slow0{kSlowTier, 0};
    const program::Location slow1{kSlowTier, kMovedBytes};
    program.arena_bytes = {3 * kMovedBytes, 2 * kMovedBytes};
    program.transfers = {{p, kPrefetch, slow0, fast0, kMovedBytes, plan::kStepStart, {}},
                         {x, kEvict, fast1, slow1, kMovedBytes, 0, {}},
                         {x, kPrefetch, slow1, fast2, kMovedBytes, 1, {1}},
                         {p, kEvict, fast0, slow0, kMovedBytes, 2, {}}};
    program.compute = {{0, {fast0, fast1}, {0}}, {1, {fast0, fast1}, {1}}, {2, {fast1, fast2, fast0, fast0}, {2}}};
    program.lanes = {{1, 3}, {0, 2}};
    program.step_start = {slow0, {}, fast1};
  }

  void add_op(const char* name, std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs) {
    graph::Op op;
    op.name = name;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    graph.add_op(op);
  }

  static memory::Link throttled(memory::TierId from, memory::TierId to) {
    memory::Link link{.from = from, .to = to, .bandwidth = kLinkBandwidth};
    link.throttled = true;
    return link;
  }

  Result<std::unique_ptr<Executor>> make(testing::MixingGraph& compiled,
                                         const EngineFactory& engines = memory::make_engine) {
    return Executor::create(compiled, machine, program, program.arena_bytes, engines);
  }

  graph::TensorId p = 0, x = 1, loss = 2;
  graph::Graph graph;
  memory::Machine machine;
  program::Program program;
};

std::vector<std::byte> read(Executor& executor, graph::TensorId tensor) {
  std::vector<std::byte> bytes(kMovedBytes);
  EXPECT_TRUE(executor.read_tensor(tensor, bytes).ok());
  return bytes;
}

// The same step without any executor.
std::vector<std::byte> parameter_after(int steps, const graph::Graph& graph) {
  testing::MixingGraph ops(graph);
  std::vector<std::byte> p(kMovedBytes), x(kMovedBytes), loss(kMovedBytes);
  for (kernels::StepContext context; context.step < steps; ++context.step) {
    EXPECT_TRUE(ops.run(0, std::vector<void*>{p.data(), x.data()}, context).ok());
    EXPECT_TRUE(ops.run(1, std::vector<void*>{p.data(), loss.data()}, context).ok());
    EXPECT_TRUE(ops.run(2, std::vector<void*>{loss.data(), x.data(), p.data(), p.data()}, context).ok());
  }
  return p;
}

Status run_steps(Executor& executor, int steps) {
  for (kernels::StepContext context; context.step < steps; ++context.step) {
    SLUICE_RETURN_IF_ERROR(executor.run_step(context));
  }
  return {};
}

TEST(Executor, ComputesWhatTheOpsComputeByThemselves) {
  Fixture fixture;
  testing::MixingGraph compiled(fixture.graph);
  auto executor = fixture.make(compiled);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  ASSERT_TRUE((*executor)->write_tensor(fixture.p, std::vector<std::byte>(kMovedBytes)).ok());
  ASSERT_TRUE(run_steps(**executor, 3).ok());
  EXPECT_TRUE(read(**executor, fixture.p) == parameter_after(3, fixture.graph));
}

TEST(Executor, RecordsWhatHappened) {
  Fixture fixture;
  testing::MixingGraph compiled(fixture.graph, {.op_seconds = kOpSeconds, .failing_op = {}});
  auto executor = fixture.make(compiled);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const auto trace = (*executor)->run_step({});
  ASSERT_TRUE(trace.ok()) << trace.error().message;

  EXPECT_EQ(trace->link_bytes, (std::vector<Bytes>{2 * kMovedBytes, 2 * kMovedBytes}));
  for (const program::Span& op : trace->ops) EXPECT_GE(op.end - op.begin, kOpSeconds);
  for (const program::Span& transfer : trace->transfers) {
    EXPECT_GE(transfer.end - transfer.begin, 0.9 * kTransferSeconds);
  }
  EXPECT_GE(trace->ops[0].begin, trace->transfers[0].end);
  EXPECT_GE(trace->transfers[1].begin, trace->ops[0].end);
  EXPECT_GE(trace->transfers[2].begin, trace->transfers[1].end);
  EXPECT_GE(trace->ops[2].begin, trace->transfers[2].end);
  EXPECT_GE(trace->step_seconds, 4 * 0.9 * kTransferSeconds + 3 * kOpSeconds);
}

// Does what another engine does, and says so backwards: of those under way together, the last one is reported first.
class BackwardsEngine final : public memory::TransferEngine {
 public:
  explicit BackwardsEngine(std::unique_ptr<memory::TransferEngine> inner) : inner_(std::move(inner)) {}

  void submit(program::TransferIndex transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override {
    inner_->submit(transfer, from_offset, to_offset, bytes);
  }
  void wait(std::optional<Seconds> deadline, std::vector<memory::FinishedTransfer>& finished) override {
    if (held_.empty() || inner_->in_flight() > 0) inner_->wait(deadline, held_);
    if (held_.empty() || inner_->in_flight() > 0) return;
    finished.push_back(held_.back());
    held_.pop_back();
  }
  void wake() override { inner_->wake(); }
  int in_flight() const override { return inner_->in_flight() + count_of(held_); }

 private:
  std::unique_ptr<memory::TransferEngine> inner_;
  std::vector<memory::FinishedTransfer> held_;
};

TEST(Executor, ALinkServesOneTransferAtATimeWhateverItsEngineDoes) {
  Fixture fixture;
  const program::Location slow0{kSlowTier, 0}, slow1{kSlowTier, kMovedBytes};
  const program::Location fast0{memory::kFastTier, 0}, fast2{memory::kFastTier, 2 * kMovedBytes};
  fixture.program.transfers = {{fixture.p, kPrefetch, slow0, fast0, kMovedBytes, plan::kStepStart, {}},
                               {fixture.x, kPrefetch, slow1, fast2, kMovedBytes, plan::kStepStart, {}}};
  fixture.program.lanes = {{}, {0, 1}};
  for (const std::size_t op : {1U, 2U}) fixture.program.compute[op].waits.clear();
  fixture.program.compute[0].waits = {0, 1};  // ops use what both bring
  testing::MixingGraph compiled(fixture.graph);
  auto executor = fixture.make(
      compiled,
      [](const memory::Machine& machine, memory::LinkId link,
         const memory::TierStorages& storages) -> Result<std::unique_ptr<memory::TransferEngine>> {
        SLUICE_ASSIGN(auto engine, memory::make_engine(machine, link, storages));
        return std::unique_ptr<memory::TransferEngine>(std::make_unique<BackwardsEngine>(std::move(engine)));
      });
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  for (int step = 0; step < 3; ++step) {
    const auto trace = (*executor)->run_step({});
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_EQ(testing::find_out_of_turn(fixture.program, *trace), std::nullopt);
    EXPECT_EQ(trace->transfers[1].begin, trace->transfers[0].end) << "it had joined before";
    EXPECT_GE(trace->ops[0].begin, trace->transfers[1].end);
  }
}

TEST(Executor, RecordsHowLongComputeWaited) {
  Fixture fixture;
  testing::MixingGraph compiled(fixture.graph, {.op_seconds = kOpSeconds, .failing_op = {}});
  auto executor = fixture.make(compiled);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  // On a busy machine a transfer may be done before compute gets to wait for it: the longest of a few steps counts.
  std::vector<Seconds> longest(3);
  Seconds longest_at_end = 0;
  for (int step = 0; step < 5; ++step) {
    const auto trace = (*executor)->run_step({});
    ASSERT_TRUE(trace.ok());
    for (std::size_t op = 0; op < 3; ++op) {
      longest[op] = std::max(longest[op], trace->stalls[op]);
      EXPECT_GE(trace->ops[op].begin, trace->stalls[op] + (op == 0 ? 0 : trace->ops[op - 1].end));
    }
    const Seconds before_end = std::accumulate(trace->stalls.begin(), trace->stalls.end(), 0.0);
    longest_at_end = std::max(longest_at_end, trace->stall_seconds - before_end);
    EXPECT_LE(trace->stall_seconds, trace->step_seconds - 3 * kOpSeconds);
  }
  for (const Seconds stall : longest) EXPECT_GE(stall, 0.5 * kTransferSeconds);
  EXPECT_GE(longest_at_end, 0.5 * kTransferSeconds);
}

TEST(Executor, OpsWaitLongerForOperandsInAnEmulatedTier) {
  Fixture fixture;
  fixture.machine.tiers[kSlowTier].read_bandwidth = 50e6;
  fixture.program.transfers.clear();
  fixture.program.lanes = {{}, {}};
  fixture.program.compute[1].waits.clear();
  fixture.program.compute[0] = {0, {{kSlowTier, 0}, {memory::kFastTier, 0}}, {}};
  fixture.program.compute[2].waits.clear();
  testing::MixingGraph compiled(fixture.graph);
  auto executor = fixture.make(compiled);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const Seconds delay = kMovedBytes / 50e6 - kOpSeconds;
  Seconds shortest_fast_op = delay;
  for (int step = 0; step < 5; ++step) {
    const auto trace = (*executor)->run_step({});
    ASSERT_TRUE(trace.ok());
    EXPECT_GE(trace->ops[0].end - trace->ops[0].begin, 0.9 * delay);  // less what the last wait was too long
    shortest_fast_op = std::min(shortest_fast_op, trace->ops[1].end - trace->ops[1].begin);
  }
  EXPECT_LT(shortest_fast_op, delay / 2);
}

TEST(Executor, RefusesABudgetBelowThePlan) {
  Fixture fixture;
  testing::MixingGraph compiled(fixture.graph);
  const std::vector<Bytes> budgets = {3 * kMovedBytes - memory::kBlockAlignment, 2 * kMovedBytes};
  const auto executor = Executor::create(compiled, fixture.machine, fixture.program, budgets);
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(executor.error().message, HasSubstr("dram"));
}

TEST(Executor, AFailingOpEndsTheStepAndTheExecutor) {
  Fixture fixture;
  testing::MixingGraph compiled(fixture.graph, {.op_seconds = 0, .failing_op = 2});
  auto executor = fixture.make(compiled);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const auto trace = (*executor)->run_step({});
  ASSERT_FALSE(trace.ok());
  EXPECT_THAT(trace.error().message, HasSubstr("update"));
  const int ops_run = compiled.ops_run();
  EXPECT_FALSE((*executor)->run_step({}).ok());
  EXPECT_EQ(compiled.ops_run(), ops_run);
  std::vector<std::byte> bytes(kMovedBytes);
  EXPECT_FALSE((*executor)->read_tensor(fixture.p, bytes).ok()) << "undefined contents must not pass for a result";
}

TEST(Executor, AFailingTransferEndsTheStepNamingTensorTiersAndBytes) {
  const char* tensors[] = {"p", "x", "x", "p"};
  for (int failing = 0; failing < 8; ++failing) {  // two steps of four transfers
    SCOPED_TRACE("transfer " + std::to_string(failing));
    Fixture fixture;
    testing::MixingGraph compiled(fixture.graph);
    auto executor =
        fixture.make(compiled, testing::fail_transfer(failing, {ErrorCode::kOutOfSpace, "no space left on device"}));
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    const Status status = run_steps(**executor, 2);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kOutOfSpace);
    EXPECT_THAT(status.error().message, HasSubstr(std::string("tensor ") + tensors[failing % 4]));
    EXPECT_THAT(status.error().message, HasSubstr("1.0 MiB"));
    EXPECT_THAT(status.error().message, HasSubstr("dram"));
    EXPECT_THAT(status.error().message, HasSubstr("slow"));
    EXPECT_THAT(status.error().message, HasSubstr("no space left on device"));
    EXPECT_FALSE((*executor)->run_step({}).ok());
  }
}

TEST(Executor, AnEngineThatCannotBeMadeIsAnErrorOfCreate) {
  Fixture fixture;
  testing::MixingGraph compiled(fixture.graph);
  const auto executor =
      fixture.make(compiled,
                   [](const memory::Machine& machine, memory::LinkId link,
                      const memory::TierStorages& storages) -> Result<std::unique_ptr<memory::TransferEngine>> {
                     if (link == kPrefetch) return Error{ErrorCode::kUnsupported, "no such engine"};
                     return memory::make_engine(machine, link, storages);
                   });
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().message, "no such engine");
}

}  // namespace
}  // namespace sluice::exec

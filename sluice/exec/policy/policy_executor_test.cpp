// Steps under policies, executed: the bits of the plain step, the bytes that the policy asked for, and times that are
// at least what was charged. What the policies decide is tested beside them.
#include "sluice/exec/policy/policy_executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/exec/policy/policy_copies.hpp"
#include "sluice/policies/charge.hpp"
#include "sluice/policies/step_accesses.hpp"
#include "sluice/testing/mixing_graph.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/start_bytes.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::exec {
namespace {

using ::testing::HasSubstr;

memory::Machine emulated_machine() {
  memory::Machine machine = testing::tiny_machine(memory::TierKind::kEmulated);
  machine.threads = 1;
  machine.tiers[0].read_bandwidth = machine.tiers[0].write_bandwidth = 10e9;
  machine.tiers[1].read_bandwidth = 1e9;
  machine.tiers[1].write_bandwidth = 0.5e9;
  return machine;
}

// Every tensor at a place of its own in fast memory.
program::Program everything_fast(const graph::Graph& graph, const memory::Machine& machine) {
  program::Program program;
  std::vector<program::Location> places;
  Bytes end = 0;
  for (const graph::Tensor& tensor : graph.tensors()) {
    places.push_back({memory::kFastTier, end});
    end += align_up(tensor.bytes, memory::kBlockAlignment);
  }
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    program::ComputeInstruction instruction{.op = op};
    for (const auto* operands : {&graph.op(op).inputs, &graph.op(op).outputs}) {
      for (const graph::TensorId id : *operands) instruction.operands.push_back(places[as_index(id)]);
    }
    program.compute.push_back(instruction);
  }
  program.arena_bytes = {end, 0};
  program.lanes.resize(machine.links.size());
  program.step_start = places;
  return program;
}

policies::ChosenPages chosen(std::string_view policy, Bytes fast_bytes) {
  return policies::choose_pages(policy, fast_bytes).value();
}

Result<std::unique_ptr<PolicyExecutor>> make(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                             const policies::ChosenPages& chosen) {
  program::Program program = everything_fast(compiled.graph(), machine);
  const std::vector<Bytes> budgets = program.arena_bytes;
  return PolicyExecutor::create(compiled, machine, std::move(program), budgets, chosen);
}

bool is_persistent(const graph::Graph& graph, graph::TensorId id) {
  return graph::is_persistent(graph.tensor(id).role);
}

// Three steps from the same start, once under the policy and once plainly: the same bits in every persistent tensor.
void expect_bits_of_the_plain_step(std::uint64_t seed, const memory::Machine& machine,
                                   const policies::ChosenPages& run) {
  testing::MixingGraph compiled(testing::random_graph(seed));
  testing::MixingGraph plain(compiled.graph());
  testing::GraphRunner runner(plain);
  auto executor = make(compiled, machine, run);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  for (graph::TensorId id = 0; id < plain.graph().tensor_count(); ++id) {
    if (!is_persistent(plain.graph(), id)) continue;
    const std::vector<std::byte> bytes = testing::start_bytes(plain.graph().tensor(id), id);
    ASSERT_TRUE((*executor)->write_tensor(id, bytes).ok());
    std::memcpy(runner.data(id), bytes.data(), bytes.size());
  }
  for (kernels::StepContext context; context.step < 3; ++context.step) {
    const auto trace = (*executor)->run_step(context);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    runner.run_step(context);
  }
  for (graph::TensorId id = 0; id < plain.graph().tensor_count(); ++id) {
    if (!is_persistent(plain.graph(), id)) continue;
    std::vector<std::byte> bytes(as_index(plain.graph().tensor(id).bytes));
    ASSERT_TRUE((*executor)->read_tensor(id, bytes).ok());
    EXPECT_EQ(std::memcmp(bytes.data(), runner.data(id), bytes.size()), 0) << plain.graph().tensor(id).name;
  }
}

TEST(PolicyExecutor, GivesTheBitsOfThePlainStep) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    for (const policies::PolicyEntry& entry : policies::policies()) {
      if (!entry.pages) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(entry.name));
      expect_bits_of_the_plain_step(seed, emulated_machine(), chosen(entry.name, 64 * kKiB));
    }
  }
}

// A real file: pages leave fast memory and come back.
memory::Machine file_machine() {
  memory::Machine machine = testing::tiny_machine(memory::TierKind::kFile);
  machine.tiers[1].path = ::testing::TempDir() + "sluice_policy_test.spill";
  machine.tiers[1].addressable = false;
  return machine;
}

// The least fast memory in which every op's pages of 4 KiB are together.
Bytes least_fast_bytes(const graph::Graph& graph) {
  Bytes most = 0;
  for (const graph::Op& op : graph.ops()) {
    Bytes bytes = 0;
    for (const graph::TensorId id : graph::distinct_operands(op)) bytes += graph.tensor(id).bytes + 8 * kKiB;
    most = std::max(most, align_up(bytes, 4 * kKiB));
  }
  return most;
}

TEST(PolicyExecutor, MovesPagesToARealFileAndBack) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Bytes least = least_fast_bytes(testing::random_graph(seed));
    for (const char* policy : {"um:page=4KiB", "um-prefetch:page=4KiB", "um:page=4KiB:fault-bytes=4KiB"}) {
      for (const Bytes fast_bytes : {least, 2 * least, 8 * least}) {
        SCOPED_TRACE(std::string(policy) + ", seed " + std::to_string(seed) + ", " + format_bytes(fast_bytes));
        expect_bits_of_the_plain_step(seed, file_machine(), chosen(policy, fast_bytes));
      }
    }
  }
}

TEST(PolicyExecutor, WhatAnOpNeedsAtOnceHasToFit) {
  testing::MixingGraph compiled(testing::random_graph(3));
  const auto refused = make(compiled, file_machine(), chosen("um:page=4KiB", 8 * kKiB));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInfeasible);
  EXPECT_EQ(refused.error().available_bytes, 8 * kKiB);
  EXPECT_GT(refused.error().requested_bytes, 8 * kKiB);
}

// Policies without passes or background work do the same whatever the time: the step's charges are those of the policy
// driven by hand.
TEST(PolicyExecutor, ChargesWhatThePolicySays) {
  for (const char* name : {"numa-first-touch", "memory-mode", "um"}) {
    SCOPED_TRACE(name);
    testing::MixingGraph compiled(testing::random_graph(7));
    const memory::Machine machine = emulated_machine();
    const policies::ChosenPages run = chosen(name, 128 * kKiB);
    auto executor = make(compiled, machine, run);
    ASSERT_TRUE(executor.ok()) << executor.error().message;

    const graph::Liveness liveness = graph::analyze_liveness(compiled.graph());
    const layout::PageLayout layout = layout::allocation_order_layout(compiled.graph(), liveness);
    const policies::StepAccesses accesses =
        policies::step_accesses(compiled.graph(), liveness, layout, profile::OpTraffic(compiled.graph(), 0));
    const policies::PolicyMemory memory = policies::policy_memory(machine, run.fast_bytes, layout.bytes);
    const std::unique_ptr<policies::Policy> policy = policies::make_policy(*run.entry, memory, run.tuning).value();
    memory::MoveList placed;
    policy->access(accesses.initial, 0, placed);
    for (kernels::StepContext context; context.step < 3; ++context.step) {
      policies::AccessCharge expected;
      Seconds charged = 0;
      std::vector<Bytes> copied;
      for (graph::OpIndex op = 0; op < compiled.graph().op_count(); ++op) {
        memory::MoveList moves;
        const policies::AccessCharge charge = policies::charge_op(*policy, accesses, op, 0, moves);
        std::vector<Bytes> of_op;
        memory::add_to_links(machine, moves, of_op);
        memory::add_to_links(machine, moves, copied);
        charged += policies::wait_seconds(machine, of_op, charge.fault_seconds) +
                   profile::op_seconds_with(0, policies::slow_seconds(machine, charge));
        expected += charge;
      }
      const auto trace = (*executor)->run_step(context);
      ASSERT_TRUE(trace.ok());
      const policies::AccessCharge& charge = (*executor)->last_step().charge;
      EXPECT_EQ(charge.requested, expected.requested);
      EXPECT_EQ(charge.found_fast, expected.found_fast);
      EXPECT_EQ(charge.slow_in_all().read, expected.slow_in_all().read);
      EXPECT_EQ(charge.slow_in_all().written, expected.slow_in_all().written);
      EXPECT_EQ(charge.slow_in_all().extra_written, expected.slow_in_all().extra_written);
      EXPECT_EQ(trace->link_bytes, copied);
      // Waits go by quanta of a millisecond, and what goes over is credited to the next step.
      EXPECT_GE(trace->step_seconds, charged - 2e-3);
    }
    EXPECT_EQ((*executor)->figures(), policy->figures());
  }
}

// Ops of 2 ms over tensors of 1 MiB at 1 GB/s: a copy each way is a wait of a millisecond.
TEST(PolicyExecutor, RecordsStallsAheadOfOps) {
  graph::Graph graph;
  graph.layers = {"all"};
  for (const char* name : {"a", "b"}) testing::add_tiny_tensor(graph, name, graph::Role::kParameter, kMiB);
  for (graph::TensorId id = 0; id < 2; ++id) testing::add_tiny_op(graph, "update", {id}, {id});
  testing::MixingGraph compiled(graph, {.op_seconds = 2e-3, .failing_op = {}});
  auto executor = make(compiled, emulated_machine(), chosen("um", kMiB));
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  for (kernels::StepContext context; context.step < 3; ++context.step) {
    const auto trace = (*executor)->run_step(context);
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(trace->link_bytes, (std::vector<Bytes>{2 * kMiB, 2 * kMiB}));
    EXPECT_GE(trace->stall_seconds, 1e-3);
    EXPECT_GE(trace->step_seconds, 4e-3 + 1e-3);
    EXPECT_GE(trace->ops[1].begin - trace->ops[0].end, 0.9 * trace->stalls[1]);
    for (const program::Span& op : trace->ops) EXPECT_GE(op.end - op.begin, 2e-3);
    EXPECT_LE(trace->ops[1].end, trace->step_seconds);
  }
}

TEST(PolicyExecutor, CopiesInTheBackgroundWhatPassesMove) {
  graph::Graph graph;
  graph.layers = {"all"};
  for (const char* name : {"a", "b"}) testing::add_tiny_tensor(graph, name, graph::Role::kParameter, kMiB);
  testing::add_tiny_op(graph, "update", {1}, {1});  // a is never used: b, which came second, takes its place
  testing::MixingGraph compiled(graph, {.op_seconds = 30e-3, .failing_op = {}});
  auto executor = make(compiled, emulated_machine(), chosen("ial", kMiB));
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  Bytes in = 0;
  Bytes out = 0;
  for (kernels::StepContext context; context.step < 12; ++context.step) {
    const auto trace = (*executor)->run_step(context);
    ASSERT_TRUE(trace.ok());
    out += trace->link_bytes[0];
    in += trace->link_bytes[1];
  }
  EXPECT_EQ(in, kMiB);
  EXPECT_EQ(out, kMiB);
  EXPECT_EQ((*executor)->last_step().charge.found_fast, kMiB);
  EXPECT_EQ((*executor)->last_step().charge.slow_in_all().read, 0);
}

TEST(PolicyExecutor, RefusesWhatItCannotEmulate) {
  testing::MixingGraph compiled(testing::random_graph(1));
  memory::Machine machine = emulated_machine();
  const auto refused = [&](std::string_view policy, Bytes fast_bytes) {
    return make(compiled, machine, chosen(policy, fast_bytes)).error();
  };
  EXPECT_EQ(refused("ial", 100).code, ErrorCode::kInfeasible);
  EXPECT_EQ(refused("um:page=2MiB", kMiB).code, ErrorCode::kInfeasible);
  EXPECT_EQ(refused("ial:period=0", kMiB).code, ErrorCode::kBadInput);
  machine.tiers[1].addressable = false;
  EXPECT_EQ(refused("ial", kMiB).code, ErrorCode::kUnsupported);
  EXPECT_TRUE(make(compiled, machine, chosen("um", kMiB)).ok());
  machine.tiers[1].kind = memory::TierKind::kPinned;  // real, and its pages stay
  EXPECT_THAT(refused("um", kMiB).message, HasSubstr("emulated"));
  machine.tiers[1].addressable = true;
  machine.tiers[1].kind = memory::TierKind::kFile;
  EXPECT_THAT(refused("memory-mode", kMiB).message, HasSubstr("hardware"));

  machine = emulated_machine();
  program::Program program = everything_fast(compiled.graph(), machine);
  program.compute[0].operands.at(0).tier = 1;
  const auto not_fast =
      PolicyExecutor::create(compiled, machine, program, std::vector<Bytes>{kGiB, kGiB}, chosen("um", kMiB));
  EXPECT_EQ(not_fast.error().code, ErrorCode::kMismatch);
}

TEST(PolicyExecutor, AFailingOpEndsTheStep) {
  testing::MixingGraph compiled(testing::random_graph(1), {.op_seconds = 0, .failing_op = 1});
  auto executor = make(compiled, emulated_machine(), chosen("um-prefetch", kMiB));
  ASSERT_TRUE(executor.ok());
  EXPECT_FALSE((*executor)->run_step({}).ok());
  EXPECT_FALSE((*executor)->run_step({}).ok());
}

TEST(PageCopies, CopiesWhatItIsTold) {
  const std::unique_ptr<PageCopies> copies = PageCopies::create(2, 3, {}, {}).value();
  copies->copy_now(10 * kMiB + 4096, 3 * kMiB);
  EXPECT_EQ(copies->copied_in(), 10 * kMiB + 4096);
  EXPECT_EQ(copies->copied_out(), 3 * kMiB);
  for (int i = 0; i < 50; ++i) copies->submit(64 * kKiB, 300 * kKiB);
  copies->drain();
  EXPECT_EQ(copies->copied_in(), 10 * kMiB + 4096 + 50 * 64 * kKiB);
  EXPECT_EQ(copies->copied_out(), 3 * kMiB + 50 * 300 * kKiB);
  copies->drain();  // nothing is under way
}

// However many threads copy, a link's bytes pass one behind the other; a device's engine holds none of them.
TEST(PageCopies, AreHeldAsLongAsTheEmulatedLinkTakes) {
  memory::Link slow{.bandwidth = 100e6, .throttled = true};
  const auto copies = PageCopies::create(1, 2, slow, slow).value();
  const auto begin = std::chrono::steady_clock::now();
  copies->submit(2 * kMiB, 0);
  copies->drain();
  EXPECT_GE(std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin).count(), 2 * kMiB / 100e6);
  EXPECT_EQ(memory::held_bandwidth(slow), 100e6);
  slow.copied_by = memory::CopiedBy::kDma;
  EXPECT_EQ(memory::held_bandwidth(slow), 0);
}

}  // namespace
}  // namespace sluice::exec

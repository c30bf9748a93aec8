#include "sluice/report/step/overlap.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/processors.hpp"

namespace sluice::report {
namespace {

// The device computes for 4 of 10 ms, the host for 3; the link out carries for 2; the rest is waiting.
TEST(Overlap, CountsWhatEveryLaneDid) {
  memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  ASSERT_TRUE(memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine).ok());
  program::Program program;
  program.compute = {{.op = 0}, {.op = 1, .processor = 1}, {.op = 2}};
  program.lanes.resize(machine.links.size());
  const memory::LinkId out = machine.link_between(0, 1).value();
  program.transfers = {{.link = out}};
  program.lanes[as_index(out)] = {0};
  program::StepTimes times;
  times.ops = {{0, 3e-3}, {5e-3, 8e-3}, {9e-3, 10e-3}};
  times.transfers = {{3e-3, 5e-3}};
  times.step_seconds = 10e-3;
  const Overlap overlap =
      overlap_of(machine, program, times, {.computation = 4e-3, .exposed_transfer = 1e-3, .processor_wait = 5e-3});
  ASSERT_EQ(overlap.lanes.size(), 3U);
  EXPECT_EQ(describe_overlap(overlap),
            "device 40 %, host 30 %, dram -> pcie3 20 %; device waits 10 % for transfers, 50 % for other processors");
  EXPECT_DOUBLE_EQ(overlap_json(overlap)["busy_ms"]["host"].get<double>(), 3);
  EXPECT_EQ(overlap_json(overlap)["critical"], "device");
}

}  // namespace
}  // namespace sluice::report

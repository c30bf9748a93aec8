// One transfer lane: a TransferDriver with a thread of its own, which hands the lane's transfers to the engine of one link
// in program order, each as soon as it may join the queue (program.hpp), so that the link never rests for want of it. A
// transfer that the engine finishes before an earlier one of the lane is reported behind that one, and its time begins
// where that one's ended.
//
// There is no queue of tickets in between: whether the next transfer may begin is asked of Progress, which wakes the lane
// when it may. So no lock is taken for a transfer, and nobody is woken who does not wait for it.
//
// The lane of a file has itself woken before who computes has had its turn (wake_promptly.hpp).
//
// A transfer that fails ends the step for everybody (Progress::fail) with an error naming tensor, tiers and bytes. When
// a step is stopped the lane lets what its engine has under way run out, and its thread ends.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sluice/exec/progress.hpp"
#include "sluice/memory/transfer/transfer_driver.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::exec {

// What all lanes share; everything outlives them.
struct LaneContext {
  const graph::Graph& graph;
  const memory::Machine& machine;
  const program::Program& program;
  Progress& progress;
  std::vector<program::Span>& transfers;  // by TransferIndex: each lane writes its own entries
};

class Lane final : private memory::TransferSource {
 public:
  // `number` is the lane's place in `context.progress`.
  Lane(std::size_t number, memory::LinkId link, std::unique_ptr<memory::TransferEngine> engine, LaneContext context);

  void start();
  void join() { driver_.finish(); }  // after Progress::stop(): every lane before any is destroyed: they wake each other

  // TransferEngine's, for the compute thread.
  void help(const RunTogether& run) { driver_.help(run); }
  void expect_help(bool expected) { driver_.expect_help(expected); }

  std::vector<std::string> notes() const { return driver_.notes(); }

 private:
  std::optional<memory::Transfer> next() override;
  void done(const Status& status) override;
  void failed(const Error& error) override { context_.progress.fail(error); }
  bool stopped() const override { return context_.progress.stopped(); }
  bool may_begin(const program::TransferInstruction& transfer, std::int64_t step);
  bool is_of_a_file() const;
  std::string name() const;
  Error describe(program::TransferIndex transfer, const Error& cause) const;

  // The n-th of all steps, and the step that it belongs to.
  program::TransferIndex transfer(std::int64_t n) const { return order_[as_index(n % std::ssize(order_))]; }
  std::int64_t step_of(std::int64_t n) const { return n / std::ssize(order_); }

  std::size_t number_;
  memory::LinkId link_;
  LaneContext context_;
  const std::vector<program::TransferIndex>& order_;
  std::int64_t begun_ = 0;  // transfers, in all steps
  std::int64_t done_ = 0;
  memory::TransferDriver driver_;
};

}  // namespace sluice::exec

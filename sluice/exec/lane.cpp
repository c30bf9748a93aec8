#include "sluice/exec/lane.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/base/threads/wake_promptly.hpp"

namespace sluice::exec {

Lane::Lane(std::size_t number, memory::LinkId link, std::unique_ptr<memory::TransferEngine> engine, LaneContext context)
    : number_(number),
      link_(link),
      engine_(std::move(engine)),
      context_(context),
      order_(context.program.lanes.at(as_index(link))) {
  SLUICE_CHECK(!order_.empty(), "a lane without transfers");
  context_.progress.set_wake(number_, [this] { engine_->wake(); });
}

void Lane::start() {
  thread_ = std::thread([this] { run(); });
}

void Lane::join() {
  if (thread_.joinable()) thread_.join();
}

void Lane::run() {
  allow_every_cpu();
  if (is_of_a_file()) wake_promptly();
  name_thread();
  while (!context_.progress.stopped()) {
    while (head_may_start()) start_head();
    engine_->wait(std::nullopt, finished_);
    report();
  }
  while (engine_->in_flight() > 0) {
    engine_->wait(std::nullopt, finished_);
    report();
  }
}

// Looks again at everything after each wake-up; the first thing missing is what Progress will wake this lane for.
bool Lane::head_may_start() {
  const program::TransferInstruction& transfer = context_.program.transfers[as_index(head())];
  if (!context_.progress.op_done(number_, step_, transfer.after_op)) return false;
  for (const graph::OpIndex earlier : transfer.op_waits) {
    if (!context_.progress.op_done(number_, step_, earlier)) return false;
  }
  for (const program::TransferIndex earlier : transfer.waits) {
    if (!context_.progress.transfer_done(number_, step_, earlier)) return false;
  }
  return true;
}

void Lane::start_head() {
  const auto index = as_index(head());
  const program::TransferInstruction& transfer = context_.program.transfers[index];
  context_.transfers[index].begin = context_.progress.seconds_since_step_start();
  under_way_.push_back({head()});
  engine_->submit(head(), transfer.from.offset, transfer.to.offset, transfer.bytes);
  if (++next_ == order_.size()) {
    next_ = 0;
    ++step_;
  }
}

void Lane::report() {
  for (const memory::FinishedTransfer& done : finished_) {
    if (!done.status.ok()) {
      context_.progress.fail(describe(done.transfer, done.status.error()));
      continue;
    }
    std::ranges::find(under_way_, done.transfer, &UnderWay::transfer)->finished = true;
  }
  finished_.clear();
  report_in_order();
}

void Lane::report_in_order() {
  while (!under_way_.empty() && under_way_.front().finished) {
    const program::TransferIndex done = under_way_.front().transfer;
    under_way_.pop_front();
    const Seconds now = context_.progress.seconds_since_step_start();
    context_.transfers[as_index(done)].end = now;
    // What is under way behind it has waited for its turn.
    if (!under_way_.empty()) context_.transfers[as_index(under_way_.front().transfer)].begin = now;
    context_.progress.finish_transfer(done);
  }
}

// Then the disk moves the bytes, and the thread only says what and when.
bool Lane::is_of_a_file() const {
  const memory::Link& link = context_.machine.link(link_);
  return context_.machine.tier(link.from).kind->in_file || context_.machine.tier(link.to).kind->in_file;
}

void Lane::name_thread() const {
  const memory::Link& link = context_.machine.link(link_);
  const std::string name =
      fmt::format("{}>{}", context_.machine.tier(link.from).name, context_.machine.tier(link.to).name);
  (void)pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());  // the kernel takes 15 characters
}

Error Lane::describe(program::TransferIndex index, const Error& cause) const {
  const program::TransferInstruction& transfer = context_.program.transfers[as_index(index)];
  return Error{cause.code, fmt::format("moving tensor {} ({}) from tier {} to tier {} failed: {}",
                                       context_.graph.tensor(transfer.tensor).name, format_bytes(transfer.bytes),
                                       context_.machine.tier(transfer.from.tier).name,
                                       context_.machine.tier(transfer.to.tier).name, cause.message)};
}

}  // namespace sluice::exec

#include "sluice/exec/lane.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::exec {

Lane::Lane(std::size_t number, memory::LinkId link, std::unique_ptr<memory::TransferEngine> engine, LaneContext context)
    : number_(number),
      link_(link),
      context_(context),
      order_(context.program.lanes.at(as_index(link))),
      driver_(std::move(engine), *this) {
  SLUICE_CHECK(!order_.empty(), "a lane without transfers");
  context_.progress.set_wake(number_, [this] { driver_.wake(); });
}

void Lane::start() { driver_.start({.name = name(), .prompt = is_of_a_file()}); }

std::optional<memory::Transfer> Lane::next() {
  const program::TransferIndex index = transfer(begun_);
  const program::TransferInstruction& next = context_.program.transfers[as_index(index)];
  if (!may_begin(next, step_of(begun_))) return std::nullopt;
  ++begun_;
  context_.transfers[as_index(index)].begin = context_.progress.seconds_since_step_start();
  return memory::Transfer{next.from.offset, next.to.offset, next.bytes, index};
}

// Looks again at everything after each wake-up; the first thing missing is what Progress will wake this lane for.
bool Lane::may_begin(const program::TransferInstruction& transfer, std::int64_t step) {
  if (!context_.progress.op_done(number_, step, transfer.after_op)) return false;
  for (const graph::OpIndex earlier : transfer.op_waits) {
    if (!context_.progress.op_done(number_, step, earlier)) return false;
  }
  for (const program::TransferIndex earlier : transfer.waits) {
    if (!context_.progress.transfer_done(number_, step, earlier)) return false;
  }
  return true;
}

void Lane::done(const Status& status) {
  const program::TransferIndex index = transfer(done_++);
  if (!status.ok()) return context_.progress.fail(describe(index, status.error()));
  const Seconds now = context_.progress.seconds_since_step_start();
  context_.transfers[as_index(index)].end = now;
  // What is under way behind it has waited for its turn.
  if (done_ < begun_) context_.transfers[as_index(transfer(done_))].begin = now;
  context_.progress.finish_transfer(index);
}

// Then the disk moves the bytes, and the thread only says what and when.
bool Lane::is_of_a_file() const {
  const memory::Link& link = context_.machine.link(link_);
  return context_.machine.tier(link.from).kind->in_file || context_.machine.tier(link.to).kind->in_file;
}

std::string Lane::name() const {
  const memory::Link& link = context_.machine.link(link_);
  return fmt::format("{}>{}", context_.machine.tier(link.from).name, context_.machine.tier(link.to).name);
}

Error Lane::describe(program::TransferIndex index, const Error& cause) const {
  const program::TransferInstruction& transfer = context_.program.transfers[as_index(index)];
  return Error{cause.code, fmt::format("moving tensor {} ({}) from tier {} to tier {} failed: {}",
                                       context_.graph.tensor(transfer.tensor).name, format_bytes(transfer.bytes),
                                       context_.machine.tier(transfer.from.tier).name,
                                       context_.machine.tier(transfer.to.tier).name, cause.message)};
}

}  // namespace sluice::exec

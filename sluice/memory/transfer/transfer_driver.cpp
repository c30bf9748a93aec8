#include "sluice/memory/transfer/transfer_driver.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/base/threads/wake_promptly.hpp"

namespace sluice::memory {

TransferDriver::TransferDriver(std::unique_ptr<TransferEngine> engine, TransferSource& source)
    : engine_(std::move(engine)), source_(source) {}

void TransferDriver::start(Thread thread) {
  thread_ = std::jthread([this, thread = std::move(thread)] { run(thread); });
}

void TransferDriver::run(const Thread& thread) {
  allow_every_cpu();
  if (thread.prompt) wake_promptly();
  (void)pthread_setname_np(pthread_self(), thread.name.substr(0, 15).c_str());  // the kernel takes 15 characters
  try {
    while (!source_.stopped()) drive();
    run_out();
  } catch (const std::exception& failure) {
    source_.failed({ErrorCode::kIo, fmt::format("thread {} ended: {}", thread.name, failure.what())});
  }
}

void TransferDriver::drive() {
  while (const std::optional<Transfer> next = source_.next()) {
    submit(*next);
  }
  wait();
}

// What the engine throws is how the transfer ends.
void TransferDriver::submit(const Transfer& transfer) {
  under_way_.push_back({transfer.id, std::nullopt});
  try {
    engine_->submit(transfer.id, transfer.from, transfer.to, transfer.bytes);
  } catch (const std::exception& failure) {
    under_way_.back().finished = Error{ErrorCode::kIo, failure.what()};
    report();
  }
}

void TransferDriver::run_out() {
  while (!under_way_.empty()) wait();
}

void TransferDriver::finish() {
  if (thread_.joinable()) {
    thread_.join();
  } else {
    run_out();
  }
}

void TransferDriver::wait() {
  engine_->wait(std::nullopt, finished_);
  for (FinishedTransfer& each : finished_) {
    std::ranges::find(under_way_, each.transfer, &UnderWay::id)->finished = std::move(each.status);
  }
  finished_.clear();
  report();
}

void TransferDriver::report() {
  while (!under_way_.empty() && under_way_.front().finished) {
    const Status status = *std::move(under_way_.front().finished);
    under_way_.pop_front();
    source_.done(status);
  }
}

}  // namespace sluice::memory

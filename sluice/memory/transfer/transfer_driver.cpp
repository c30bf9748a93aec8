#include "sluice/memory/transfer/transfer_driver.hpp"

#include <pthread.h>

#include <algorithm>
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
  while (!source_.stopped()) drive();
  run_out();
}

void TransferDriver::drive() {
  while (const std::optional<Transfer> next = source_.next()) {
    under_way_.push_back({next->id, std::nullopt});
    engine_->submit(next->id, next->from, next->to, next->bytes);
  }
  wait();
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
  while (!under_way_.empty() && under_way_.front().finished) {
    const Status status = *std::move(under_way_.front().finished);
    under_way_.pop_front();
    source_.done(status);
  }
}

}  // namespace sluice::memory

#include "sluice/testing/failing_engine.hpp"

#include <atomic>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/transfer/uring_engine.hpp"

namespace sluice::testing {
namespace {

struct Fault {
  int number = 0;
  Error error;
  std::atomic<int> submitted{0};  // over all links
};

class FailingEngine : public memory::TransferEngine {
 public:
  FailingEngine(std::unique_ptr<memory::TransferEngine> inner, std::shared_ptr<Fault> fault)
      : inner_(std::move(inner)), fault_(std::move(fault)) {}

  void submit(program::TransferIndex transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override {
    if (fault_->submitted.fetch_add(1) != fault_->number) {
      inner_->submit(transfer, from_offset, to_offset, bytes);
      return;
    }
    failed_.push_back({transfer, fault_->error});
    inner_->wake();  // so that the next wait() comes back to report it
  }

  void wait(std::optional<Seconds> deadline, std::vector<memory::FinishedTransfer>& finished) override {
    inner_->wait(deadline, finished);
    finished.insert(finished.end(), failed_.begin(), failed_.end());
    failed_.clear();
  }

  void wake() override { inner_->wake(); }
  int in_flight() const override { return inner_->in_flight() + count_of(failed_); }

 private:
  std::unique_ptr<memory::TransferEngine> inner_;
  std::shared_ptr<Fault> fault_;
  std::vector<memory::FinishedTransfer> failed_;
};

}  // namespace

exec::EngineFactory fail_transfer(int number, Error error) {
  auto fault = std::make_shared<Fault>();
  fault->number = number;
  fault->error = std::move(error);
  return [fault](const memory::Machine& machine, memory::LinkId link,
                 const memory::TierStorages& storages) -> Result<std::unique_ptr<memory::TransferEngine>> {
    SLUICE_ASSIGN(auto inner, memory::make_engine(machine, link, storages));
    return std::unique_ptr<memory::TransferEngine>(std::make_unique<FailingEngine>(std::move(inner), fault));
  };
}

exec::EngineFactory alter_file_requests(AlterRequest alter) {
  auto requests = std::make_shared<std::atomic<int>>(0);
  return [requests, alter](const memory::Machine& machine, memory::LinkId id,
                           const memory::TierStorages& storages) -> Result<std::unique_ptr<memory::TransferEngine>> {
    const memory::Link& link = machine.link(id);
    const bool writes = storages.file(link.to) != nullptr;
    if (!writes && storages.file(link.from) == nullptr) return memory::make_engine(machine, id, storages);
    memory::UringEngine::Config config = memory::uring_config(machine, link, storages);
    config.alter_result = [requests, alter, writes](std::int64_t /*of this link*/, std::int32_t result) {
      return alter(requests->fetch_add(1), writes, result);
    };
    SLUICE_ASSIGN(std::unique_ptr<memory::UringEngine> engine, memory::UringEngine::create(std::move(config)));
    return std::unique_ptr<memory::TransferEngine>(std::move(engine));
  };
}

}  // namespace sluice::testing

#include "sluice/testing/failing_engine.hpp"

#include <atomic>

#include "sluice/memory/transfer/uring_engine.hpp"

namespace sluice::testing {
namespace {

struct Fault {
  int number = 0;
  Error error;
  std::atomic<int> submitted{0};  // over all links
};

class FailingEngine : public TransferEngine {
 public:
  FailingEngine(std::unique_ptr<TransferEngine> inner, std::shared_ptr<Fault> fault)
      : inner_(std::move(inner)), fault_(std::move(fault)) {}

  void submit(TransferIndex transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override {
    if (fault_->submitted.fetch_add(1) != fault_->number) {
      inner_->submit(transfer, from_offset, to_offset, bytes);
      return;
    }
    failed_.push_back({transfer, fault_->error});
    inner_->wake();  // so that the next wait() comes back to report it
  }

  void wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) override {
    inner_->wait(deadline, finished);
    finished.insert(finished.end(), failed_.begin(), failed_.end());
    failed_.clear();
  }

  void wake() override { inner_->wake(); }
  int in_flight() const override { return inner_->in_flight() + static_cast<int>(failed_.size()); }

 private:
  std::unique_ptr<TransferEngine> inner_;
  std::shared_ptr<Fault> fault_;
  std::vector<FinishedTransfer> failed_;
};

}  // namespace

EngineFactory fail_transfer(int number, Error error) {
  auto fault = std::make_shared<Fault>();
  fault->number = number;
  fault->error = std::move(error);
  return [fault](const Machine& machine, LinkId link,
                 const TierStorages& storages) -> Result<std::unique_ptr<TransferEngine>> {
    SLUICE_ASSIGN(auto inner, make_engine(machine, link, storages));
    return std::unique_ptr<TransferEngine>(std::make_unique<FailingEngine>(std::move(inner), fault));
  };
}

EngineFactory alter_file_requests(AlterRequest alter) {
  auto requests = std::make_shared<std::atomic<int>>(0);
  return [requests, alter](const Machine& machine, LinkId id,
                           const TierStorages& storages) -> Result<std::unique_ptr<TransferEngine>> {
    const Link& link = machine.link(id);
    const bool writes = storages.file(link.to) != nullptr;
    if (!writes && storages.file(link.from) == nullptr) return make_engine(machine, id, storages);
    UringEngine::Config config = uring_config(machine, link, storages);
    config.alter_result = [requests, alter, writes](std::int64_t /*of this link*/, std::int32_t result) {
      return alter(requests->fetch_add(1), writes, result);
    };
    SLUICE_ASSIGN(std::unique_ptr<UringEngine> engine, UringEngine::create(std::move(config)));
    return std::unique_ptr<TransferEngine>(std::move(engine));
  };
}

}  // namespace sluice::testing

#include "sluice/testing/failing_engine.hpp"

#include <atomic>

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

}  // namespace sluice::testing

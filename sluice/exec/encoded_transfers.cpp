#include "sluice/exec/encoded_transfers.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/own_encoding.hpp"

namespace sluice::exec {
namespace {

constexpr Bytes kMostStagingBytes = 8 * kMiB;  // of one link

}  // namespace

EncodedTransfers::EncodedTransfers(const graph::Graph& graph, const program::Program& program)
    : graph_(graph), program_(program) {
  for (const program::TransferInstruction& transfer : program.transfers) {
    moved_.push_back(transfer.bytes);
    if (transfer.encoded < 0) continue;
    chunks_.resize(std::max(chunks_.size(), as_index(transfer.encoded) + 1));
    chunks_[as_index(transfer.encoded)].resize(
        as_index((transfer.bytes + memory::kEncodedChunkBytes - 1) / memory::kEncodedChunkBytes));
  }
}

std::unique_ptr<memory::TransferEngine> EncodedTransfers::around(std::unique_ptr<memory::TransferEngine> engine,
                                                                 memory::LinkId link, const memory::Machine& machine,
                                                                 const memory::TierStorages& storages) {
  if (!carries_encoded(program_, link)) return engine;
  memory::EncodingEngine::Config config{.encodes = machine.link(link).from == memory::kFastTier,
                                        .arena = storages.base(memory::kFastTier),
                                        .staging = {},
                                        .find = [this](memory::TransferId transfer) { return find(transfer); }};
  if (config.encodes) config.staging = staging_of(link, machine, storages);
  return std::make_unique<memory::EncodingEngine>(std::move(engine), std::move(config));
}

Interval<Bytes> EncodedTransfers::staging_of(memory::LinkId link, const memory::Machine& machine,
                                             const memory::TierStorages& storages) const {
  std::vector<memory::LinkId> sharing;
  for (memory::LinkId each = 0; each < as_id<memory::LinkId>(program_.lanes.size()); ++each) {
    if (machine.link(each).from == memory::kFastTier && carries_encoded(program_, each)) sharing.push_back(each);
  }
  const Bytes memory =
      program_.stitches.empty() ? storages.bytes(memory::kFastTier) : program_.arena_bytes[memory::kFastTier];
  const Bytes room = memory - program_.staging_begin;
  const Bytes share = std::min(kMostStagingBytes, align_down(room / std::ssize(sharing), memory::kBlockAlignment));
  const Bytes begin = program_.staging_begin + share * (std::ranges::find(sharing, link) - sharing.begin());
  return {begin, begin + share};
}

memory::EncodedTransfer EncodedTransfers::find(program::TransferIndex transfer) {
  const program::TransferInstruction& instruction = program_.transfers[as_index(transfer)];
  if (instruction.encoded < 0) return {};
  const graph::Tensor& tensor = graph_.tensor(instruction.tensor);
  return {plan::own_encoding(tensor), graph::size_of(tensor.dtype), &chunks_[as_index(instruction.encoded)],
          &moved_[as_index(transfer)]};
}

bool carries_encoded(const program::Program& program, memory::LinkId link) {
  return std::ranges::any_of(program.lanes[as_index(link)], [&](program::TransferIndex transfer) {
    return program.transfers[as_index(transfer)].encoded >= 0;
  });
}

}  // namespace sluice::exec

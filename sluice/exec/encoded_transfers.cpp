#include "sluice/exec/encoded_transfers.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/encoding.hpp"

namespace sluice {

EncodedTransfers::EncodedTransfers(const Graph& graph, const Program& program) : graph_(graph), program_(program) {
  for (const TransferInstruction& transfer : program.transfers) {
    moved_.push_back(transfer.bytes);
    if (transfer.encoding == Encoding::kNone) continue;
    SLUICE_CHECK(allows(graph.tensor(transfer.tensor), transfer.encoding), "a verified program encodes what it may");
    chunks_.resize(std::max(chunks_.size(), as_index(transfer.encoded) + 1));
    chunks_[as_index(transfer.encoded)].resize(
        as_index((transfer.bytes + kEncodedChunkBytes - 1) / kEncodedChunkBytes));
  }
}

EncodedTransfer EncodedTransfers::find(TransferIndex transfer) {
  const TransferInstruction& instruction = program_.transfers[as_index(transfer)];
  if (instruction.encoding == Encoding::kNone) return {};
  return {instruction.encoding, size_of(graph_.tensor(instruction.tensor).dtype),
          &chunks_[as_index(instruction.encoded)], &moved_[as_index(transfer)]};
}

bool carries_encoded(const Program& program, LinkId link) {
  return std::ranges::any_of(program.lanes[as_index(link)], [&](TransferIndex transfer) {
    return program.transfers[as_index(transfer)].encoding != Encoding::kNone;
  });
}

}  // namespace sluice

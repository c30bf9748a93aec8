#include "sluice/exec/encoded_transfers.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/encoding.hpp"

namespace sluice::exec {

EncodedTransfers::EncodedTransfers(const graph::Graph& graph, const program::Program& program)
    : graph_(graph), program_(program) {
  for (const program::TransferInstruction& transfer : program.transfers) {
    moved_.push_back(transfer.bytes);
    if (transfer.encoding == memory::Encoding::kNone) continue;
    SLUICE_CHECK(graph::allows(graph.tensor(transfer.tensor), transfer.encoding),
                 "a verified program encodes what it may");
    chunks_.resize(std::max(chunks_.size(), as_index(transfer.encoded) + 1));
    chunks_[as_index(transfer.encoded)].resize(
        as_index((transfer.bytes + memory::kEncodedChunkBytes - 1) / memory::kEncodedChunkBytes));
  }
}

memory::EncodedTransfer EncodedTransfers::find(program::TransferIndex transfer) {
  const program::TransferInstruction& instruction = program_.transfers[as_index(transfer)];
  if (instruction.encoding == memory::Encoding::kNone) return {};
  return {instruction.encoding, graph::size_of(graph_.tensor(instruction.tensor).dtype),
          &chunks_[as_index(instruction.encoded)], &moved_[as_index(transfer)]};
}

bool carries_encoded(const program::Program& program, memory::LinkId link) {
  return std::ranges::any_of(program.lanes[as_index(link)], [&](program::TransferIndex transfer) {
    return program.transfers[as_index(transfer)].encoding != memory::Encoding::kNone;
  });
}

}  // namespace sluice::exec

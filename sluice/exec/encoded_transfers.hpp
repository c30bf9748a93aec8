// What of a program's transfers moves encoded, and the engines that encode and decode it
// (memory/transfer/encoding_engine.hpp): how each chunk lies in the slow tier, and how many bytes every transfer moved.
//
// Lanes write entries of their own transfers; the program's waits order who writes and who reads a residency's chunks.
#pragma once

#include <memory>
#include <vector>

#include "sluice/memory/transfer/encoding_engine.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

class EncodedTransfers {
 public:
  // Both outlive it.
  EncodedTransfers(const graph::Graph& graph, const program::Program& program);

  // The engine of a link, inside one that encodes or decodes where the link carries anything encoded. Links that encode
  // share what the plan leaves of the fast arena. The engine refers to this.
  std::unique_ptr<memory::TransferEngine> around(std::unique_ptr<memory::TransferEngine> engine, memory::LinkId link,
                                                 const memory::Machine& machine, const memory::TierStorages& storages);

  memory::EncodedTransfer find(program::TransferIndex transfer);

  // By TransferIndex: in the last step; as many bytes as the transfer has where it moves as they are.
  const std::vector<Bytes>& moved() const { return moved_; }

 private:
  Interval<Bytes> staging_of(memory::LinkId link, const memory::Machine& machine,
                             const memory::TierStorages& storages) const;

  const graph::Graph& graph_;
  const program::Program& program_;
  std::vector<std::vector<memory::StoredChunk>> chunks_;  // by ResidencyIndex; none of what is not encoded
  std::vector<Bytes> moved_;
};

// Whether the link carries anything encoded.
bool carries_encoded(const program::Program& program, memory::LinkId link);

}  // namespace sluice::exec

// What of a program's transfers moves encoded, for the engines that encode and decode them
// (memory/transfer/encoding_engine.hpp): how each chunk lies in the slow tier, and how many bytes every transfer moved.
//
// Lanes write entries of their own transfers; the program's waits order who writes and who reads a residency's chunks.
#pragma once

#include <vector>

#include "sluice/memory/transfer/encoding_engine.hpp"
#include "sluice/program/program.hpp"

namespace sluice {

class EncodedTransfers {
 public:
  // Both outlive it.
  EncodedTransfers(const Graph& graph, const Program& program);

  EncodedTransfer find(TransferIndex transfer);

  // By TransferIndex: in the last step; as many bytes as the transfer has where it moves as they are.
  const std::vector<Bytes>& moved() const { return moved_; }

 private:
  const Graph& graph_;
  const Program& program_;
  std::vector<std::vector<StoredChunk>> chunks_;  // by ResidencyIndex; none of what is not encoded
  std::vector<Bytes> moved_;
};

// Whether the link carries anything encoded.
bool carries_encoded(const Program& program, LinkId link);

}  // namespace sluice

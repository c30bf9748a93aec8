// What of a program's transfers moves encoded, for the engines that encode and decode them
// (memory/transfer/encoding_engine.hpp): how each chunk lies in the slow tier, and how many bytes every transfer moved.
//
// Lanes write entries of their own transfers; the program's waits order who writes and who reads a residency's chunks.
#pragma once

#include <vector>

#include "sluice/memory/transfer/encoding_engine.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

class EncodedTransfers {
 public:
  // Both outlive it.
  EncodedTransfers(const graph::Graph& graph, const program::Program& program);

  memory::EncodedTransfer find(program::TransferIndex transfer);

  // By TransferIndex: in the last step; as many bytes as the transfer has where it moves as they are.
  const std::vector<Bytes>& moved() const { return moved_; }

 private:
  const graph::Graph& graph_;
  const program::Program& program_;
  std::vector<std::vector<memory::StoredChunk>> chunks_;  // by ResidencyIndex; none of what is not encoded
  std::vector<Bytes> moved_;
};

// Whether the link carries anything encoded.
bool carries_encoded(const program::Program& program, memory::LinkId link);

}  // namespace sluice::exec

// Lets another engine move encoded tensors: fewer bytes, and the lane's thread packs or unpacks them.
//
//   out    fast arena --encode--> staging --inner engine--> slow tier        chunk by chunk, as staging becomes free
//   in     slow tier --inner engine--> where the chunk is to be --decode--   all chunks at once; no staging
//
// Every kind of link can be wrapped in this way, throttled ones too: the inner engine sees only the bytes that really
// move. Staging lies in the fast arena, behind all that the plan uses, so that it is part of the budget and of the
// memory that io_uring knows. Chunks that would save no block move as they are, from and to where they lie.
//
// First come, first served, as in every engine: nothing is handed to the inner engine before all of the transfer before
// it has been. What is encoded in which residency is told from one engine to the other in EncodedResidencies; the
// program's waits order who writes and who reads it.
//
// submit(), wait(), in_flight(): lane thread. help(), expect_help(): compute thread. wake(): any.
#pragma once

#include <atomic>
#include <list>
#include <memory>

#include "sluice/memory/encoding/chunk_coder.hpp"
#include "sluice/memory/transfer/deadline.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"

namespace sluice {

// By ResidencyIndex, then by chunk: how it lies in the slow tier. Empty for what is not encoded.
using EncodedResidencies = std::vector<std::vector<StoredChunk>>;

// Room for what the program encodes.
EncodedResidencies make_encoded_residencies(const Graph& graph, const Program& program);

// Whether the link carries anything encoded.
bool carries_encoded(const Program& program, LinkId link);

class EncodingEngine final : public TransferEngine {
 public:
  struct Config {
    bool encodes = false;            // away from the fast tier; else the engine decodes
    std::byte* arena = nullptr;      // of the fast tier
    Interval<Bytes> staging;         // in it; the engine that encodes needs room for one chunk or more
    std::vector<Bytes>* moved = {};  // by TransferIndex: set for what is encoded, before it is reported
    EncodedResidencies* residencies = nullptr;
  };

  // What is passed must outlive the engine.
  EncodingEngine(std::unique_ptr<TransferEngine> inner, const Graph& graph, const Program& program, Config config);

  void submit(TransferIndex transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override;
  void wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) override;
  void wake() override;
  void help(int threads) override { inner_->help(threads); }
  void expect_help(bool expected) override { inner_->expect_help(expected); }
  int in_flight() const override { return static_cast<int>(transfers_.size()); }
  std::vector<std::string> notes() const override { return inner_->notes(); }

 private:
  struct Transfer {
    TransferIndex id = 0;
    Bytes from = 0;
    Bytes to = 0;
    Bytes bytes = 0;
    Encoding encoding = Encoding::kNone;
    Bytes element_bytes = 0;
    std::vector<StoredChunk>* chunks = nullptr;
    std::size_t next_chunk = 0;  // to hand to the inner engine
    int outstanding = 0;         // handed to it and not finished
    Status status;

    bool encoded() const { return encoding != Encoding::kNone; }
    std::size_t chunk_count() const { return chunks == nullptr ? 1 : chunks->size(); }
    bool all_issued() const { return next_chunk == chunk_count(); }
    Bytes chunk_begin(std::size_t chunk) const { return static_cast<Bytes>(chunk) * kEncodedChunkBytes; }
    Bytes chunk_bytes(std::size_t chunk) const { return std::min(kEncodedChunkBytes, bytes - chunk_begin(chunk)); }
  };
  struct Piece {
    std::list<Transfer>::iterator transfer;
    std::size_t chunk = 0;
    std::optional<Bytes> staging;  // to be free again
  };

  bool issue_next();
  void issue_raw(Transfer& transfer);
  void issue_encoded(std::list<Transfer>::iterator transfer);
  void issue_to_decode(std::list<Transfer>::iterator transfer);
  void hand_on(std::list<Transfer>::iterator transfer, Bytes from, Bytes to, Bytes bytes, std::optional<Bytes> staging);
  bool collect(std::vector<FinishedTransfer>& finished);
  void finish_piece(Piece& piece, Status status);
  void decode(const Transfer& transfer, std::size_t chunk);
  void report(std::list<Transfer>::iterator transfer, std::vector<FinishedTransfer>& finished);

  std::unique_ptr<TransferEngine> inner_;
  const Graph& graph_;
  const Program& program_;
  Config config_;
  ChunkCoder coder_;
  std::list<Transfer> transfers_;                             // in order of submission
  std::list<Transfer>::iterator issuing_ = transfers_.end();  // the first that is not all handed on
  std::vector<Piece> pieces_;                                 // by number: chunks under way
  std::vector<std::size_t> free_numbers_;
  std::vector<Bytes> free_staging_;
  std::vector<FinishedTransfer> inner_finished_;
  std::atomic<bool> woken_{false};
};

}  // namespace sluice

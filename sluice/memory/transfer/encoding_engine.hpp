// Lets another engine move encoded bytes: fewer of them, and the lane's thread packs or unpacks them.
//
//   out    fast arena --encode--> staging --inner engine--> slow tier        chunk by chunk, as staging becomes free
//   in     slow tier --inner engine--> where the chunk is to be --decode--   all chunks at once; no staging
//
// Every kind of link can be wrapped in this way, throttled ones too: the inner engine sees only the bytes that really
// move. Staging lies in the fast arena, so that it is part of the budget and of the memory that io_uring knows. Chunks that would save no block move as they are, from and to where they lie.
//
// First come, first served, as in every engine: nothing is handed to the inner engine before all of the transfer before
// it has been. How each chunk lies is told from the engine that encodes to the one that decodes in
// EncodedTransfer::chunks; whoever submits orders who writes and who reads them.
//
// submit(), wait(), in_flight(): lane thread. help(), expect_help(): a thread that computes. wake(): any.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/memory/encoding/chunk_coder.hpp"
#include "sluice/memory/transfer/deadline.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"

namespace sluice::memory {

// What the engine has to know of a transfer, when it is submitted.
struct EncodedTransfer {
  Encoding encoding = Encoding::kNone;  // kNone: it moves as it is
  Bytes element_bytes = 0;
  std::vector<StoredChunk>* chunks = nullptr;  // one for each chunk: how it lies in the slow tier
  Bytes* moved = nullptr;                      // set to what went over the link, before the transfer is reported
};
using FindEncoded = std::function<EncodedTransfer(TransferId)>;

class EncodingEngine final : public TransferEngine {
 public:
  struct Config {
    bool encodes = false;        // away from the fast tier; else the engine decodes
    std::byte* arena = nullptr;  // of the fast tier
    Interval<Bytes> staging;     // in it; the engine that encodes needs room for one chunk or more
    FindEncoded find;            // what it points to outlives the engine
  };

  EncodingEngine(std::unique_ptr<TransferEngine> inner, Config config);

  void submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override;
  void wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) override;
  void wake() override;
  void help(const RunTogether& run) override { inner_->help(run); }
  void expect_help(bool expected) override { inner_->expect_help(expected); }
  int in_flight() const override { return count_of(transfers_); }
  std::vector<std::string> notes() const override { return inner_->notes(); }

 private:
  struct Transfer {
    TransferId id = 0;
    Bytes from = 0;
    Bytes to = 0;
    Bytes bytes = 0;
    EncodedTransfer encoded_as = {};
    std::size_t next_chunk = 0;  // to hand to the inner engine
    int outstanding = 0;         // handed to it and not finished
    Status status;

    bool encoded() const { return encoded_as.encoding != Encoding::kNone; }
    std::size_t chunk_count() const { return encoded() ? encoded_as.chunks->size() : 1; }
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
  void issue_encoded(std::list<Transfer>::iterator transfer);
  void issue_to_decode(std::list<Transfer>::iterator transfer);
  void hand_on(std::list<Transfer>::iterator transfer, Bytes from, Bytes to, Bytes bytes, std::optional<Bytes> staging);
  std::size_t piece_of(TransferId id);
  bool collect(std::vector<FinishedTransfer>& finished);
  void finish_piece(Piece& piece, Status status);
  void decode(const Transfer& transfer, std::size_t chunk);
  void report(std::list<Transfer>::iterator transfer, std::vector<FinishedTransfer>& finished);

  std::unique_ptr<TransferEngine> inner_;
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

}  // namespace sluice::memory

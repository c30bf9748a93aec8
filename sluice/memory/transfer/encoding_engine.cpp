#include "sluice/memory/transfer/encoding_engine.hpp"

#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::memory {
namespace {

// Piece numbers as the inner engine sees them: below 0, so that a throttle takes them for more of the same transfer.
TransferId index_of_piece(std::size_t number) { return -1 - static_cast<TransferId>(number); }
std::size_t number_of_piece(TransferId index) { return as_index(-1 - index); }

}  // namespace

EncodingEngine::EncodingEngine(std::unique_ptr<TransferEngine> inner, Config config)
    : inner_(std::move(inner)), config_(std::move(config)) {
  for (Bytes at = config_.staging.begin; at + kEncodedChunkBytes <= config_.staging.end; at += kEncodedChunkBytes) {
    free_staging_.push_back(at);
  }
  SLUICE_CHECK(!config_.encodes || !free_staging_.empty(), "whoever encodes needs staging");
}

void EncodingEngine::submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) {
  Transfer submitted{.id = transfer, .from = from_offset, .to = to_offset, .bytes = bytes};
  submitted.encoded_as = config_.find(transfer);
  transfers_.push_back(std::move(submitted));
  if (issuing_ == transfers_.end()) issuing_ = std::prev(transfers_.end());
  // Encoding is left to wait(): it takes time.
  while (issuing_ != transfers_.end() && (!issuing_->encoded() || !config_.encodes) && issue_next()) {
  }
}

// Hands the next piece on: a transfer that is not encoded, or a chunk. False where there is none, or no room for it.
bool EncodingEngine::issue_next() {
  if (issuing_ == transfers_.end()) return false;
  if (!issuing_->encoded()) {
    hand_on(issuing_, issuing_->from, issuing_->to, issuing_->bytes, std::nullopt);
  } else if (config_.encodes) {
    if (free_staging_.empty()) return false;
    issue_encoded(issuing_);
  } else {
    issue_to_decode(issuing_);
  }
  if (issuing_->all_issued()) ++issuing_;
  return true;
}

void EncodingEngine::issue_encoded(std::list<Transfer>::iterator transfer) {
  const std::size_t chunk = transfer->next_chunk;
  const Bytes begin = transfer->chunk_begin(chunk);
  const Bytes bytes = transfer->chunk_bytes(chunk);
  const Bytes staging = free_staging_.back();
  const StoredChunk stored = coder_.encode(transfer->encoded_as.encoding, config_.arena + transfer->from + begin, bytes,
                                           transfer->encoded_as.element_bytes, config_.arena + staging);
  (*transfer->encoded_as.chunks)[chunk] = stored;
  if (stored.stored_bytes == bytes) {
    hand_on(transfer, transfer->from + begin, transfer->to + begin, bytes, std::nullopt);
    return;
  }
  free_staging_.pop_back();
  hand_on(transfer, staging, transfer->to + begin, stored.stored_bytes, staging);
}

void EncodingEngine::issue_to_decode(std::list<Transfer>::iterator transfer) {
  const std::size_t chunk = transfer->next_chunk;
  const Bytes begin = transfer->chunk_begin(chunk);
  const Bytes stored = (*transfer->encoded_as.chunks)[chunk].stored_bytes;
  SLUICE_CHECK(stored > 0 && stored <= transfer->chunk_bytes(chunk), "what is decoded has been encoded before");
  hand_on(transfer, transfer->from + begin, transfer->to + begin, stored, std::nullopt);
}

void EncodingEngine::hand_on(std::list<Transfer>::iterator transfer, Bytes from, Bytes to, Bytes bytes,
                             std::optional<Bytes> staging) {
  const Piece piece{transfer, transfer->next_chunk++, staging};
  ++transfer->outstanding;
  if (free_numbers_.empty()) {
    free_numbers_.push_back(pieces_.size());
    pieces_.push_back(piece);
  }
  const std::size_t number = free_numbers_.back();
  free_numbers_.pop_back();
  pieces_[number] = piece;
  // The link's latency is that of the whole transfer: a throttle takes it from the first chunk's index.
  inner_->submit(piece.chunk == 0 ? transfer->id : index_of_piece(number), from, to, bytes);
}

// By what the inner engine calls it.
std::size_t EncodingEngine::piece_of(TransferId id) {
  if (id < 0) return number_of_piece(id);
  const auto first = std::ranges::find_if(pieces_, [&](const Piece& piece) {
    return piece.transfer != transfers_.end() && piece.transfer->id == id && piece.chunk == 0;
  });
  SLUICE_CHECK(first != pieces_.end(), "a piece of no transfer");
  return as_index(first - pieces_.begin());
}

bool EncodingEngine::collect(std::vector<FinishedTransfer>& finished) {
  const std::size_t before = finished.size();
  for (FinishedTransfer& done : inner_finished_) {
    const std::size_t number = piece_of(done.transfer);
    const auto transfer = pieces_[number].transfer;
    finish_piece(pieces_[number], std::move(done.status));
    pieces_[number].transfer = transfers_.end();
    free_numbers_.push_back(number);
    report(transfer, finished);
  }
  inner_finished_.clear();
  return finished.size() > before;
}

void EncodingEngine::finish_piece(Piece& piece, Status status) {
  Transfer& transfer = *piece.transfer;
  --transfer.outstanding;
  if (piece.staging) free_staging_.push_back(*piece.staging);
  if (!status.ok()) {
    if (transfer.status.ok()) transfer.status = std::move(status);
    if (!transfer.all_issued()) {
      transfer.next_chunk = transfer.chunk_count();  // the rest is not worth moving
      if (issuing_ == piece.transfer) ++issuing_;
    }
    return;
  }
  if (transfer.encoded() && !config_.encodes) decode(transfer, piece.chunk);
}

void EncodingEngine::decode(const Transfer& transfer, std::size_t chunk) {
  const StoredChunk& stored = (*transfer.encoded_as.chunks)[chunk];
  if (stored.stored_bytes == transfer.chunk_bytes(chunk)) return;
  coder_.decode(transfer.encoded_as.encoding, config_.arena + transfer.to + transfer.chunk_begin(chunk),
                transfer.chunk_bytes(chunk), transfer.encoded_as.element_bytes, stored);
}

// If that was the last of it.
void EncodingEngine::report(std::list<Transfer>::iterator transfer, std::vector<FinishedTransfer>& finished) {
  if (transfer->outstanding > 0 || !transfer->all_issued()) return;
  if (transfer->encoded()) {
    Bytes moved = 0;
    for (const StoredChunk& chunk : *transfer->encoded_as.chunks) moved += chunk.stored_bytes;
    *transfer->encoded_as.moved = moved;
  }
  finished.push_back({transfer->id, std::move(transfer->status)});
  transfers_.erase(transfer);
}

void EncodingEngine::wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) {
  const Deadline until = deadline_after(deadline);
  for (;;) {
    const bool issued = issue_next();
    inner_->wait(issued ? std::optional<Seconds>(0) : seconds_until(until), inner_finished_);
    const bool reported = collect(finished);
    if (woken_.exchange(false) || reported || (until && *until <= Clock::now())) return;
  }
}

void EncodingEngine::wake() {
  woken_ = true;
  inner_->wake();
}

}  // namespace sluice::memory

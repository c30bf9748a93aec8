#include "sluice/memory/encoding/encoding_engine.hpp"

#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice {
namespace {

// Piece numbers as the inner engine sees them: below 0, so that a throttle takes them for more of the same transfer.
TransferIndex index_of_piece(std::size_t number) { return -1 - static_cast<TransferIndex>(number); }
std::size_t number_of_piece(TransferIndex index) { return static_cast<std::size_t>(-1 - index); }

}  // namespace

EncodedResidencies make_encoded_residencies(const Graph& graph, const Program& program) {
  EncodedResidencies all;
  for (const TransferInstruction& transfer : program.transfers) {
    if (transfer.encoding == Encoding::kNone) continue;
    SLUICE_CHECK(allows(graph.tensor(transfer.tensor), transfer.encoding), "a verified program encodes what it may");
    all.resize(std::max(all.size(), as_index(transfer.encoded) + 1));
    all[as_index(transfer.encoded)].resize(as_index((transfer.bytes + kEncodedChunkBytes - 1) / kEncodedChunkBytes));
  }
  return all;
}

bool carries_encoded(const Program& program, LinkId link) {
  return std::ranges::any_of(program.lanes[as_index(link)], [&](TransferIndex transfer) {
    return program.transfers[as_index(transfer)].encoding != Encoding::kNone;
  });
}

EncodingEngine::EncodingEngine(std::unique_ptr<TransferEngine> inner, const Graph& graph, const Program& program,
                               Config config)
    : inner_(std::move(inner)), graph_(graph), program_(program), config_(config) {
  for (Bytes at = config_.staging.begin; at + kEncodedChunkBytes <= config_.staging.end; at += kEncodedChunkBytes) {
    free_staging_.push_back(at);
  }
  SLUICE_CHECK(!config_.encodes || !free_staging_.empty(), "whoever encodes needs staging");
}

void EncodingEngine::submit(TransferIndex transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) {
  const TransferInstruction& instruction = program_.transfers[as_index(transfer)];
  Transfer submitted{.id = transfer, .from = from_offset, .to = to_offset, .bytes = bytes};
  if (instruction.encoding != Encoding::kNone) {
    submitted.encoding = instruction.encoding;
    submitted.element_bytes = size_of(graph_.tensor(instruction.tensor).dtype);
    submitted.chunks = &(*config_.residencies)[as_index(instruction.encoded)];
  }
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
    issue_raw(*issuing_);
  } else if (config_.encodes) {
    if (free_staging_.empty()) return false;
    issue_encoded(issuing_);
  } else {
    issue_to_decode(issuing_);
  }
  if (issuing_->all_issued()) ++issuing_;
  return true;
}

void EncodingEngine::issue_raw(Transfer& transfer) {
  transfer.next_chunk = 1;
  ++transfer.outstanding;
  inner_->submit(transfer.id, transfer.from, transfer.to, transfer.bytes);
}

void EncodingEngine::issue_encoded(std::list<Transfer>::iterator transfer) {
  const std::size_t chunk = transfer->next_chunk;
  const Bytes begin = transfer->chunk_begin(chunk);
  const Bytes bytes = transfer->chunk_bytes(chunk);
  const Bytes staging = free_staging_.back();
  const StoredChunk stored = coder_.encode(transfer->encoding, config_.arena + transfer->from + begin, bytes,
                                           transfer->element_bytes, config_.arena + staging);
  (*transfer->chunks)[chunk] = stored;
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
  const Bytes stored = (*transfer->chunks)[chunk].stored_bytes;
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

bool EncodingEngine::collect(std::vector<FinishedTransfer>& finished) {
  const std::size_t before = finished.size();
  for (FinishedTransfer& done : inner_finished_) {
    std::size_t number = 0;
    if (done.transfer < 0) {
      number = number_of_piece(done.transfer);
    } else {
      const auto transfer = std::ranges::find(transfers_, done.transfer, &Transfer::id);
      SLUICE_CHECK(transfer != transfers_.end(), "a piece of no transfer");
      if (!transfer->encoded()) {
        --transfer->outstanding;
        transfer->status = std::move(done.status);
        report(transfer, finished);
        continue;
      }
      const auto first = std::ranges::find_if(
          pieces_, [&](const Piece& piece) { return piece.transfer == transfer && piece.chunk == 0; });
      number = static_cast<std::size_t>(first - pieces_.begin());
    }
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
  if (!config_.encodes) decode(transfer, piece.chunk);
}

void EncodingEngine::decode(const Transfer& transfer, std::size_t chunk) {
  const StoredChunk& stored = (*transfer.chunks)[chunk];
  if (stored.stored_bytes == transfer.chunk_bytes(chunk)) return;
  coder_.decode(transfer.encoding, config_.arena + transfer.to + transfer.chunk_begin(chunk),
                transfer.chunk_bytes(chunk), transfer.element_bytes, stored);
}

// If that was the last of it.
void EncodingEngine::report(std::list<Transfer>::iterator transfer, std::vector<FinishedTransfer>& finished) {
  if (transfer->outstanding > 0 || !transfer->all_issued()) return;
  if (transfer->encoded()) {
    Bytes moved = 0;
    for (const StoredChunk& chunk : *transfer->chunks) moved += chunk.stored_bytes;
    (*config_.moved)[as_index(transfer->id)] = moved;
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

}  // namespace sluice

#include "sluice/exec/tensor_moves.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"
#include "sluice/memory/transfer/transfer_queue.hpp"

namespace sluice::exec {
namespace {

// Which moves have to be done before which, because their sources lie where others write.
class MoveOrder {
 public:
  explicit MoveOrder(std::span<const TensorMove> moves)
      : moves_(moves), by_source_(moves.size()), overwriting_(moves.size()), readers_left_(moves.size()) {
    std::iota(by_source_.begin(), by_source_.end(), std::size_t{0});
    std::ranges::sort(by_source_, {}, [&](std::size_t move) { return key(moves_[move].from); });
    for (std::size_t move = 0; move < moves.size(); ++move) find_readers(move);
  }

  std::vector<std::size_t> order() {
    std::vector<bool> begun(moves_.size());
    std::vector<std::size_t> order, ready;
    const auto release = [&](std::size_t source) {
      for (const std::size_t move : overwriting_[source]) {
        if (--readers_left_[move] == 0 && !begun[move]) ready.push_back(move);
      }
    };
    for (std::size_t move = 0; move < moves_.size(); ++move) {
      if (readers_left_[move] == 0) ready.push_back(move);
    }
    for (std::size_t next = 0;;) {
      while (!ready.empty()) {
        const std::size_t move = ready.back();
        ready.pop_back();
        begun[move] = true;
        order.push_back(move);
        release(move);
      }
      while (next < moves_.size() && begun[next]) ++next;
      if (next == moves_.size()) return order;
      begun[next] = true;  // left out
      release(next);
    }
  }

 private:
  static std::pair<memory::TierId, Bytes> key(const program::Location& at) { return {at.tier, at.offset}; }

  void find_readers(std::size_t move) {
    const program::Location& to = moves_[move].to;
    const auto ends_behind = [&](std::size_t source) {
      const TensorMove& other = moves_[source];
      return key({other.from.tier, other.from.offset + other.bytes}) <= key(to);
    };
    auto source = std::ranges::partition_point(by_source_, ends_behind);
    for (; source != by_source_.end(); ++source) {
      const program::Location& from = moves_[*source].from;
      if (key(from) >= key({to.tier, to.offset + moves_[move].bytes})) break;
      if (*source == move) continue;
      overwriting_[*source].push_back(move);
      ++readers_left_[move];
    }
  }

  std::span<const TensorMove> moves_;
  std::vector<std::size_t> by_source_;
  std::vector<std::vector<std::size_t>> overwriting_;  // by move: those that write to where it reads
  std::vector<int> readers_left_;                      // by move: that read where it writes
};

// A range may overlap with where it goes to, inside a tier: it is then copied from the end that is not overwritten.
Status copy(const memory::TierStorages& storages, const TensorMove& move) {
  constexpr Bytes kPiece = 4 * kMiB;
  std::vector<std::byte> buffer(as_index(std::min(kPiece, move.bytes)));
  const bool from_the_end = move.from.tier == move.to.tier && move.from.offset < move.to.offset;
  for (Bytes done = 0; done < move.bytes;) {
    const Bytes bytes = std::min(kPiece, move.bytes - done);
    const Bytes at = from_the_end ? move.bytes - done - bytes : done;
    const auto piece = std::span(buffer).first(as_index(bytes));
    SLUICE_RETURN_IF_ERROR(storages.read(move.from.tier, move.from.offset + at, piece));
    SLUICE_RETURN_IF_ERROR(storages.write(move.to.tier, move.to.offset + at, piece));
    done += bytes;
  }
  return {};
}

class Mover {
 public:
  Mover(const memory::Machine& machine, const memory::TierStorages& storages)
      : machine_(machine), storages_(storages) {}

  Status perform(const TensorMove& move) {
    const Bytes whole_blocks = bytes_for_engine(move);
    if (whole_blocks > 0) SLUICE_RETURN_IF_ERROR(transfer(move, whole_blocks));
    const program::Location from{move.from.tier, move.from.offset + whole_blocks};
    const program::Location to{move.to.tier, move.to.offset + whole_blocks};
    return copy(storages_, {from, to, move.bytes - whole_blocks});
  }

 private:
  Bytes bytes_for_engine(const TensorMove& move) const {
    const auto served = [&](memory::TierId tier) {
      return machine_.tier(tier).kind->host_reaches || machine_.tier(tier).kind->in_file;
    };
    if (!machine_.link_between(move.from.tier, move.to.tier)) return 0;
    if (!served(move.from.tier) || !served(move.to.tier)) return 0;
    if (move.from.offset % memory::kBlockAlignment != 0 || move.to.offset % memory::kBlockAlignment != 0) return 0;
    return align_down(move.bytes, memory::kBlockAlignment);
  }

  Status transfer(const TensorMove& move, Bytes bytes) {
    const memory::LinkId link = *machine_.link_between(move.from.tier, move.to.tier);
    std::unique_ptr<memory::TransferQueue>& queue = queues_[link];
    if (queue == nullptr) {
      SLUICE_ASSIGN(auto engine, memory::make_engine(machine_, link, storages_));
      queue = std::make_unique<memory::TransferQueue>(std::move(engine), memory::TransferQueue::Config{});
    }
    return queue->wait(queue->put({move.from.offset, move.to.offset, bytes}));
  }

  const memory::Machine& machine_;
  const memory::TierStorages& storages_;
  std::map<memory::LinkId, std::unique_ptr<memory::TransferQueue>> queues_;  // driven by this thread
};

}  // namespace

std::vector<std::size_t> order_moves(std::span<const TensorMove> moves) { return MoveOrder(moves).order(); }

Status perform_moves(const memory::Machine& machine, const memory::TierStorages& storages,
                     std::span<const TensorMove> moves) {
  Mover mover(machine, storages);
  for (const TensorMove& move : moves) {
    if (move.from != move.to) SLUICE_RETURN_IF_ERROR(mover.perform(move));
  }
  return {};
}

}  // namespace sluice::exec

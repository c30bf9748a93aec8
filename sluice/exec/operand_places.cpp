#include "sluice/exec/operand_places.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sluice/graph/liveness.hpp"

namespace sluice {
namespace {

constexpr TensorId kSharedPage = -1;

// Which tensor's pages, where, and how many times they had been brought there.
using Stay = std::tuple<TensorId, TierId, Bytes, std::int64_t>;

class PlaceFinder {
 public:
  PlaceFinder(const Graph& graph, const Program& program)
      : graph_(graph), program_(program), transfers_(graph.tensors().size()) {
    for (const TransferInstruction& transfer : program.transfers) {
      transfers_[static_cast<std::size_t>(transfer.tensor)].push_back(&transfer);
    }
  }

  OperandPlaces find() {
    OperandPlaces places;
    for (OpIndex op = 0; op < graph_.op_count(); ++op) {
      places.ops.emplace_back();
      for (const TensorId tensor : distinct_operands(graph_.op(op))) {
        if (graph_.tensor(tensor).bytes > 0) add_operand(op, tensor, places.ops.back());
      }
    }
    places.stays = numbers_.size();
    return places;
  }

 private:
  void add_operand(OpIndex index, TensorId tensor, OpPlaces& places) {
    const Op& op = graph_.op(index);
    const auto input = std::ranges::find(op.inputs, tensor);
    const auto output = std::ranges::find(op.outputs, tensor);
    const auto position = static_cast<std::size_t>(
        input != op.inputs.end() ? input - op.inputs.begin()
                                 : static_cast<std::ptrdiff_t>(op.inputs.size()) + (output - op.outputs.begin()));
    const Location& at = program_.compute[static_cast<std::size_t>(index)].operands[position];
    OperandPlace& place =
        places.operands.emplace_back(OperandPlace{tensor, input != op.inputs.end(), output != op.outputs.end(), {}});
    const Bytes end = at.offset + graph_.tensor(tensor).bytes;
    if (!may_share_pages(tensor, at)) {
      const Bytes bytes = align_up(end, kTensorAlignment) - at.offset;
      place.watched = {
          watch(places, {position, 0, bytes, number({tensor, at.tier, at.offset, arrivals(index, tensor, at)})})};
      return;
    }
    for (Bytes page = align_down(at.offset, kTensorAlignment); page < end; page += kTensorAlignment) {
      const std::size_t stay = number({kSharedPage, at.tier, page, 0});
      place.watched.push_back(watch(places, {position, at.offset - page, kTensorAlignment, stay}));
    }
  }

  bool may_share_pages(TensorId tensor, const Location& at) const {
    return at.tier == kFastTier && graph_.tensor(tensor).bytes < kTensorAlignment;
  }

  std::int64_t arrivals(OpIndex before, TensorId tensor, const Location& at) const {
    return std::ranges::count_if(
        transfers_[static_cast<std::size_t>(tensor)],
        [&](const TransferInstruction* transfer) { return transfer->to == at && transfer->after_op < before; });
  }

  std::size_t number(const Stay& stay) { return numbers_.try_emplace(stay, numbers_.size()).first->second; }

  // Operands of one op that share a page share its place.
  static std::size_t watch(OpPlaces& places, const WatchedPlace& wanted) {
    auto found = std::ranges::find(places.watched, wanted.stay, &WatchedPlace::stay);
    if (found == places.watched.end()) found = places.watched.insert(found, wanted);
    ++found->sharers;
    return static_cast<std::size_t>(found - places.watched.begin());
  }

  const Graph& graph_;
  const Program& program_;
  std::vector<std::vector<const TransferInstruction*>> transfers_;  // by TensorId
  std::map<Stay, std::size_t> numbers_;
};

}  // namespace

OperandPlaces find_operand_places(const Graph& graph, const Program& program) {
  return PlaceFinder(graph, program).find();
}

}  // namespace sluice

#include "sluice/exec/operand_places.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/base/id_vector.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::exec {
namespace {

constexpr graph::TensorId kSharedPage = -1;

// Which tensor's pages, where, and how many times they had been brought there.
using Stay = std::tuple<graph::TensorId, memory::TierId, Bytes, std::int64_t>;

class PlaceFinder {
 public:
  PlaceFinder(const graph::Graph& graph, const program::Program& program)
      : graph_(graph), program_(program), arrivals_(graph.tensors().size()) {
    for (const program::TransferInstruction& transfer : program.transfers) {
      add_arrival(transfer.tensor, transfer, 0);
      for (const program::TransferPart& part : transfer.others) add_arrival(part.tensor, transfer, part.offset);
    }
  }

  OperandPlaces find() {
    OperandPlaces places;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      places.ops.emplace_back();
      for (const graph::TensorId tensor : graph::distinct_operands(graph_.op(op))) {
        if (graph_.tensor(tensor).bytes > 0) add_operand(op, tensor, places.ops.back());
      }
    }
    places.stays = numbers_.size();
    return places;
  }

 private:
  struct Arrival {
    program::Location at;
    graph::OpIndex after_op = 0;
  };

  void add_arrival(graph::TensorId tensor, const program::TransferInstruction& transfer, Bytes offset) {
    const program::Location at{transfer.to.tier, transfer.to.offset + offset};
    arrivals_[tensor].push_back({at, transfer.after_op});
  }

  void add_operand(graph::OpIndex index, graph::TensorId tensor, OpPlaces& places) {
    const graph::Op& op = graph_.op(index);
    const auto input = std::ranges::find(op.inputs, tensor);
    const auto output = std::ranges::find(op.outputs, tensor);
    const auto position = static_cast<std::size_t>(
        input != op.inputs.end() ? input - op.inputs.begin()
                                 : static_cast<std::ptrdiff_t>(op.inputs.size()) + (output - op.outputs.begin()));
    const program::Location& at = program_.compute[as_index(index)].operands[position];
    OperandPlace& place =
        places.operands.emplace_back(OperandPlace{tensor, input != op.inputs.end(), output != op.outputs.end(), {}});
    const Bytes end = at.offset + graph_.tensor(tensor).bytes;
    const Bytes own_begin = align_up(at.offset, memory::kBlockAlignment);
    const Bytes own_end = align_down(end, memory::kBlockAlignment);
    if (own_begin < own_end) {
      const std::size_t stay = number({tensor, at.tier, at.offset, arrivals_before(index, tensor, at)});
      place.watched.push_back(watch(places, {position, at.offset - own_begin, own_end - own_begin, stay}));
    }
    for (const Bytes page : border_pages(at.offset, end)) {
      const std::size_t stay = number({kSharedPage, at.tier, page, 0});
      place.watched.push_back(watch(places, {position, at.offset - page, memory::kBlockAlignment, stay}));
    }
  }

  // Those that [begin, end) fills only in part: other tensors may lie there too.
  static std::vector<Bytes> border_pages(Bytes begin, Bytes end) {
    const Bytes first = align_down(begin, memory::kBlockAlignment);
    const Bytes last = align_down(end, memory::kBlockAlignment);
    std::vector<Bytes> pages;
    if (first != begin) pages.push_back(first);
    if (last != end && (pages.empty() || last != first)) pages.push_back(last);
    return pages;
  }

  std::int64_t arrivals_before(graph::OpIndex op, graph::TensorId tensor, const program::Location& at) const {
    return std::ranges::count_if(arrivals_[tensor],
                                 [&](const Arrival& arrival) { return arrival.at == at && arrival.after_op < op; });
  }

  std::size_t number(const Stay& stay) { return numbers_.try_emplace(stay, numbers_.size()).first->second; }

  // Operands of one op that share a page share its place.
  static std::size_t watch(OpPlaces& places, const WatchedPlace& wanted) {
    auto found = std::ranges::find(places.watched, wanted.stay, &WatchedPlace::stay);
    if (found == places.watched.end()) found = places.watched.insert(found, wanted);
    ++found->sharers;
    return as_index(found - places.watched.begin());
  }

  const graph::Graph& graph_;
  const program::Program& program_;
  IdVector<graph::TensorId, std::vector<Arrival>> arrivals_;
  std::map<Stay, std::size_t> numbers_;
};

}  // namespace

OperandPlaces find_operand_places(const graph::Graph& graph, const program::Program& program) {
  return PlaceFinder(graph, program).find();
}

}  // namespace sluice::exec

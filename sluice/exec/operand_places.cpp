#include "sluice/exec/operand_places.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sluice/graph/liveness.hpp"

namespace sluice {
namespace {

// Where a tensor is, and how many times it had been brought there.
using Stay = std::tuple<TensorId, TierId, Bytes, std::int64_t>;

class Arrivals {
 public:
  explicit Arrivals(const Program& program, std::size_t tensors) : by_tensor_(tensors) {
    for (const TransferInstruction& transfer : program.transfers) {
      by_tensor_[static_cast<std::size_t>(transfer.tensor)].push_back(&transfer);
    }
  }

  std::int64_t before(OpIndex op, TensorId tensor, const Location& at) const {
    return std::ranges::count_if(by_tensor_[static_cast<std::size_t>(tensor)], [&](const TransferInstruction* arrival) {
      return arrival->to == at && arrival->after_op < op;
    });
  }

 private:
  std::vector<std::vector<const TransferInstruction*>> by_tensor_;
};

std::size_t first_position(const Op& op, TensorId tensor) {
  const auto input = std::ranges::find(op.inputs, tensor);
  if (input != op.inputs.end()) return static_cast<std::size_t>(input - op.inputs.begin());
  return op.inputs.size() + static_cast<std::size_t>(std::ranges::find(op.outputs, tensor) - op.outputs.begin());
}

}  // namespace

OperandPlaces find_operand_places(const Graph& graph, const Program& program) {
  const Arrivals arrivals(program, graph.tensors().size());
  std::map<Stay, std::size_t> numbers;
  OperandPlaces places;
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const Op& op = graph.op(index);
    auto& operands = places.ops.emplace_back();
    for (const TensorId tensor : distinct_operands(op)) {
      if (graph.tensor(tensor).bytes == 0) continue;
      const std::size_t position = first_position(op, tensor);
      const Location& at = program.compute[static_cast<std::size_t>(index)].operands[position];
      const Stay stay{tensor, at.tier, at.offset, arrivals.before(index, tensor, at)};
      const auto number = numbers.try_emplace(stay, numbers.size()).first->second;
      operands.push_back({tensor, position, number});
    }
  }
  places.stays = numbers.size();
  return places;
}

}  // namespace sluice

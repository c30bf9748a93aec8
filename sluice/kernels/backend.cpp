#include "sluice/kernels/backend.hpp"

#include "sluice/base/random.hpp"

namespace sluice::kernels {

double learning_rate_of(const graph::UpdateAttributes& update, const StepContext& context) {
  return update.rate == 0 ? context.learning_rate : double{update.rate} * context.learning_rate;
}

std::uint64_t stream_of_dropout(const graph::DropoutAttributes& dropout, const StepContext& context) {
  const int rank = context.ranks == nullptr ? 0 : context.ranks->rank();
  return dropout.stream + static_cast<std::uint64_t>(rank) * kStreamsApart;
}

std::unique_ptr<CompiledGraph> CompiledGraph::rescheduled(const graph::Rescheduled& step) const {
  SLUICE_CHECK(step.op_of.empty(), "these kernels run in the graph's own order");
  return nullptr;
}

}  // namespace sluice::kernels

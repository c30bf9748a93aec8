// What ranks tell one another in a step, for an op that is tried alone: every rank's part is like this one's, rank 0's.
#include <algorithm>

#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

void reduce_scatter(const ReferenceCall& call) {
  SLUICE_CHECK(call.context().ranks == nullptr, "the reference runs one rank");
  const auto x = call.input<float>(0);
  const auto part = call.output<float>(0);
  for (std::size_t i = 0; i < part.size(); ++i) {
    float sum = x[i];
    for (std::int64_t rank = 1; rank < call.as<graph::RanksAttributes>().ranks; ++rank) sum += x[i];
    part[i] = call.as<graph::RanksAttributes>().factor * sum;
  }
}

void own_part(const ReferenceCall& call) {
  std::ranges::copy_n(call.input<float>(0).begin(), std::ssize(call.output<float>(0)), call.output<float>(0).begin());
}

void all_gather(const ReferenceCall& call) {
  SLUICE_CHECK(call.context().ranks == nullptr, "the reference runs one rank");
  const auto part = call.input<float>(0);
  const auto x = call.output<float>(0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = part[i % part.size()];
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kReduceScatter, reduce_scatter)
SLUICE_REFERENCE_KERNEL(kOwnPart, own_part)
SLUICE_REFERENCE_KERNEL(kAllGather, all_gather)

}  // namespace sluice::kernels

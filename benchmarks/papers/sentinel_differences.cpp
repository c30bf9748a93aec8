// Why the figures of the paper's ResNet-32 and of ours differ: each reason with the numbers that show it.
#include <fmt/format.h>

#include "benchmarks/papers/sentinel_observations.hpp"
#include "sluice/report/characterization_text.hpp"

namespace sluice {
namespace {

double real(std::int64_t number) { return static_cast<double>(number); }

std::string rounded_megabytes(Bytes bytes) { return fmt::format("{:.0f} MB", real(bytes) / 1e6); }

std::string temporaries(const Graph& graph, const Liveness& liveness, const Lifetimes& lifetimes) {
  std::int64_t reorders = 0;
  for (const Op& op : graph.ops()) reorders += op.kind == OpKind::kReorder ? 1 : 0;
  TensorGroup workspaces;
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const bool counts = graph.tensor(id).role == Role::kWorkspace && liveness.short_lived[static_cast<std::size_t>(id)];
    if (counts) workspaces.add(graph.tensor(id).bytes);
  }
  return fmt::format(
      "Short-lived tensors: the paper's include what TensorFlow allocates inside an operation to pad, transpose, "
      "expand and squeeze (section III-B). Here layouts are fixed before the step and kernels pad inside: of {} ops "
      "{} are reorders, and {} of the {} short-lived tensors are kernels' workspaces ({} MB summed).",
      graph.op_count(), reorders, workspaces.tensors, lifetimes.short_lived.all().tensors, workspaces.bytes / 1000000);
}

std::string shares(const Lifetimes& lifetimes) {
  const double short_lived = real(lifetimes.short_lived.all().tensors);
  const double all = short_lived + real(lifetimes.long_lived.all().tensors);
  const double persistent = real(lifetimes.persistent.all().tensors);
  return fmt::format(
      "Long-lived tensors: without the many small temporaries the {:.0f} persistent tensors (parameters, momenta, "
      "running statistics) weigh more: {} of all {:.0f}. Of the others {} are short-lived.",
      persistent, format_share(persistent, all), all, format_share(short_lived, all - persistent));
}

std::string layers(const Graph& graph, const Characterization& found) {
  return fmt::format(
      "Layers: here a layer is a run of ops of one model layer in one direction. Batch norms' outputs are made "
      "again in the backward pass instead of being kept, and large ops are cut into parts of the batch that run in "
      "turn; both go back and forth between layers: {} runs for {} model layers. --keep-norm-outputs turns that off.",
      found.layers, graph.layers.size());
}

std::string bytes(const Characterization& found) {
  const Bytes all = found.lifetimes.short_lived.all().bytes + found.lifetimes.long_lived.all().bytes;
  return fmt::format(
      "Bytes: 907 MB are 54 % of the paper's pages, so it has 1680 MB of them; all tensors here have {} summed, and "
      "at most {} live at once. Forward ReLUs are part of other ops, results are written in place, and norms' "
      "outputs are not kept. Table III has 14.10 GB for the same model and batch; the paper does not say what the "
      "rest is.",
      rounded_megabytes(all), rounded_megabytes(found.live.peak));
}

std::string counting(const FalseSharing& sharing) {
  return fmt::format(
      "Accesses: the paper counts with every page protected again after each access, as its kernel patch allows; "
      "here a page counts again once it has left a software TLB, and large tensors may be tracked in chunks. By "
      "page, this run's allocator puts tensors one after the other on the same addresses, so that their accesses "
      "add up: {} of {} mis-classed for that reason alone.",
      rounded_megabytes(sharing.misclassed - sharing.misclassed_together), rounded_megabytes(sharing.misclassed));
}

}  // namespace

std::vector<std::string> explain_differences(const Graph& graph, const Liveness& liveness,
                                             const Characterization& found, std::int64_t batch) {
  std::vector<std::string> reasons;
  if (batch != kPublishedBatch) {
    reasons.push_back(fmt::format("This run has batch {}, the paper's is {}.", batch, kPublishedBatch));
  }
  reasons.push_back(temporaries(graph, liveness, found.lifetimes));
  reasons.push_back(shares(found.lifetimes));
  reasons.push_back(layers(graph, found));
  reasons.push_back(bytes(found));
  if (found.false_sharing) reasons.push_back(counting(*found.false_sharing));
  return reasons;
}

}  // namespace sluice

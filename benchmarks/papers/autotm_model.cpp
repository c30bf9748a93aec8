#include "benchmarks/papers/autotm_model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/access_pattern.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/profile/memory_time.hpp"

namespace sluice::benchmarks::autotm {
namespace {

constexpr int kCores = 24;
constexpr Bytes kCaches = kCores * kMiB + 35 * kMiB + 768 * kKiB;
constexpr BytesPerSecond kDram = 6 * 2666e6 * 8;

const KernelOp* find_op(const Kernel& kernel) {
  const auto found = std::ranges::find(kernel_ops(), kernel.op, &KernelOp::op);
  return found == kernel_ops().end() ? nullptr : &*found;
}

std::vector<profile::CacheUse> uses_of(const Kernel& kernel, graph::OpKind kind) {
  std::vector<profile::CacheUse> uses;
  for (const Bytes bytes : kernel.inputs) {
    // A slice reads no more than it writes.
    const Bytes touched = kind == graph::OpKind::kSlice ? std::min(bytes, kernel.outputs.front()) : bytes;
    uses.push_back({.tensor = as_id<graph::TensorId>(uses.size()),
                    .bytes = touched,
                    .reads = true,
                    .sweeps = graph::read_sweeps(kind)});
  }
  for (const Bytes bytes : kernel.outputs) {
    uses.push_back({.tensor = as_id<graph::TensorId>(uses.size()), .bytes = bytes, .writes = true});
  }
  return uses;
}

double error_of(const memory::Machine& machine, const Fit& fit, const Kernel& kernel) {
  const Placement& slowest = kernel.placements.back();
  return std::abs(std::log(predict(machine, fit, kernel, slowest) / slowest.seconds));
}

}  // namespace

const std::vector<KernelOp>& kernel_ops() {
  static const std::vector<KernelOp> ops{
      {"ConvolutionBias", graph::OpKind::kConv2d, "convolution forward", true},
      {"ConvolutionBackpropData", graph::OpKind::kConv2dBackwardData, "convolution backward data", true},
      {"ConvolutionBiasBackpropFiltersBias", graph::OpKind::kConv2dBackwardWeights, "convolution backward filter",
       true},
      {"BatchNormTrainingRelu", graph::OpKind::kBatchNorm, "batch norm forward", true},
      {"BatchNormTraining", graph::OpKind::kBatchNorm, "batch norm forward", true},
      {"BatchNormTrainingBackprop", graph::OpKind::kBatchNormBackward, "batch norm backward", true},
      {"Add", graph::OpKind::kAdd, "add", true},
      {"Relu", graph::OpKind::kRelu, "ReLU, both ways", true},
      {"ReluBackprop", graph::OpKind::kReluBackward, "ReLU, both ways", true},
      {"Concat", graph::OpKind::kConcat, "concat", true},
      {"Slice", graph::OpKind::kSlice, "slice"},
      {"ConvertLayout", graph::OpKind::kReorder, "layout change"},
      {"MatmulBias", graph::OpKind::kDense, "product"},
      {"MaxPoolWithIndices", graph::OpKind::kMaxPool, "pooling, both ways"},
      {"MaxPoolWithIndicesBackprop", graph::OpKind::kMaxPoolBackward, "pooling, both ways"},
      {"AvgPool", graph::OpKind::kAvgPool, "pooling, both ways"},
      {"AvgPoolBackprop", graph::OpKind::kAvgPoolBackward, "pooling, both ways"},
  };
  return ops;
}

std::vector<KernelKind> by_kind(const std::vector<Kernel>& kernels) {
  std::vector<KernelKind> kinds;
  for (const KernelOp& op : kernel_ops()) {
    if (kinds.empty() || kinds.back().name != op.counted_as) kinds.push_back({op.counted_as, op.in_bar, {}});
    std::ranges::copy_if(kernels, std::back_inserter(kinds.back().kernels),
                         [&](const Kernel& kernel) { return kernel.op == op.op; });
  }
  std::erase_if(kinds, [](const KernelKind& kind) { return kind.kernels.empty(); });
  return kinds;
}

memory::Machine autotm_machine() {
  memory::Machine machine = memory::make_machine({.threads = kCores, .slow = {{"optane"}}}).value();
  machine.cpu = "one socket of AutoTM's Cascade Lake server, 24 cores";
  machine.cache_bytes = kCaches;
  machine.tiers[memory::kFastTier].read_bandwidth = machine.tiers[memory::kFastTier].write_bandwidth = kDram;
  return machine;
}

Seconds predict(const memory::Machine& machine, const Fit& fit, const Kernel& kernel, const Placement& placement) {
  const KernelOp* op = find_op(kernel);
  profile::CacheModel cache(share_of(fit.usable_caches, machine.cache_bytes));
  const std::vector<profile::CacheUse> uses = uses_of(kernel, op == nullptr ? graph::OpKind::kReshape : op->kind);
  const std::size_t record = cache.run(uses);
  profile::MemoryTraffic traffic;
  int outputs = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (placement.locations.at(i) != 'P') continue;
    traffic += cache.traffic(record + i);
    outputs += uses[i].writes ? 1 : 0;
  }
  const profile::MemorySeconds slow =
      profile::memory_seconds(machine.tier(1), machine.tier(memory::kFastTier), machine.threads, traffic);
  return profile::op_seconds_with(kernel.placements.front().seconds, slow) + outputs * fit.per_output;
}

double distance(const memory::Machine& machine, const Fit& fit, const std::vector<KernelKind>& kinds) {
  double sum = 0;
  for (const KernelKind& kind : kinds) {
    if (!kind.in_bar) continue;
    double of_kind = 0;
    for (const Kernel& kernel : kind.kernels) of_kind += error_of(machine, fit, kernel);
    sum += of_kind / static_cast<double>(kind.kernels.size());
  }
  return sum;
}

Fit fit_to(const memory::Machine& machine, const std::vector<Kernel>& kernels) {
  const std::vector<KernelKind> kinds = by_kind(kernels);
  Fit best;
  double least = std::numeric_limits<double>::infinity();
  for (int share = 2; share <= 60; share += 2) {
    for (int microseconds = 0; microseconds <= 300; microseconds += 10) {
      const Fit fit{share / 100.0, microseconds * 1e-6};
      const double at = distance(machine, fit, kinds);
      if (at >= least) continue;
      least = at;
      best = fit;
    }
  }
  return best;
}

std::vector<Kernel> half_of(const std::vector<Kernel>& kernels, bool even) {
  std::vector<Kernel> half;
  for (const Kernel& kernel : kernels) {
    if ((kernel.id % 2 == 0) == even) half.push_back(kernel);
  }
  return half;
}

}  // namespace sluice::benchmarks::autotm

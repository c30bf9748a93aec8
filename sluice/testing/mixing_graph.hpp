// A CompiledGraph for tests whose ops compute nothing useful but depend on everything: each op hashes all bytes of its
// inputs and fills its outputs from that hash. One wrong, late or overwritten byte anywhere changes every tensor that
// comes after it, so "same bits" over random graphs and plans is a strong check and a cheap one.
//
// Any graph will do: operands need only have bytes. No OpenMP, so thread sanitizers understand it.
#pragma once

#include <atomic>
#include <optional>

#include "sluice/kernels/backend.hpp"

namespace sluice::testing {

struct MixingOptions {
  Seconds op_seconds = 0;  // ops spin for at least this long, so that transfers get a chance to be late
  std::optional<graph::OpIndex> failing_op;  // returns an error instead of running
  bool uneven = false;                       // runs take one to five times op_seconds in turn
  bool by_choice = false;                    // results differ by implementation and processor, as those of kernels do
};

class MixingGraph : public kernels::CompiledGraph {
 public:
  explicit MixingGraph(graph::Graph graph, MixingOptions options = {}) : graph_(std::move(graph)), options_(options) {}

  const graph::Graph& graph() const override { return graph_; }
  Status run(graph::OpIndex op, std::span<void* const> operands, const kernels::StepContext& context) override;
  std::unique_ptr<kernels::CompiledGraph> rescheduled(const graph::Rescheduled& step) const override;
  // The bytes as they are: `plain` gets as many floats as the tensor has bytes for.
  void to_plain(graph::TensorId tensor, const void* stored, std::span<float> plain) override;
  void from_plain(graph::TensorId tensor, std::span<const float> plain, void* stored) override;

  int ops_run() const { return ops_run_; }

 private:
  void mix_all(const graph::Op& op, std::span<void* const> operands, std::uint64_t hash) const;
  void run_norm(const graph::Op& op, std::span<void* const> operands, std::uint64_t hash) const;
  void fill(std::uint64_t seed, graph::TensorId tensor, void* stored) const;
  std::span<std::byte> bytes_of(graph::TensorId tensor, void* stored) const;

  graph::Graph graph_;
  MixingOptions options_;
  std::atomic<int> ops_run_ = 0;
};

}  // namespace sluice::testing

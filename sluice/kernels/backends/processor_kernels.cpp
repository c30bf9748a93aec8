#include "sluice/kernels/backends/processor_kernels.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/backends/backends.hpp"

namespace sluice::kernels {
namespace {

// The graph that the main processor's backend has made, with ops that other backends run.
class SharedGraph : public CompiledGraph {
 public:
  // `others` by ProcessorId; nullptr where `main` has the kernels.
  SharedGraph(graph::Graph graph, std::shared_ptr<CompiledGraph> main,
              std::vector<std::shared_ptr<CompiledGraph>> others)
      : graph_(std::move(graph)), main_(std::move(main)), others_(std::move(others)) {}

  const graph::Graph& graph() const override { return graph_; }

  Status run(graph::OpIndex op, std::span<void* const> operands, const StepContext& context) override {
    const auto& other = others_.at(as_index(graph_.op(op).processor));
    return (other == nullptr ? main_ : other)->run(op, operands, context);
  }

  std::unique_ptr<CompiledGraph> rescheduled(const graph::Rescheduled& step) const override {
    std::vector<std::shared_ptr<CompiledGraph>> others;
    for (const auto& other : others_) others.push_back(other == nullptr ? nullptr : other->rescheduled(step));
    return std::make_unique<SharedGraph>(step.graph, main_->rescheduled(step), std::move(others));
  }

  void to_plain(graph::TensorId tensor, const void* stored, std::span<float> plain) override {
    main_->to_plain(tensor, stored, plain);
  }
  void from_plain(graph::TensorId tensor, std::span<const float> plain, void* stored) override {
    main_->from_plain(tensor, plain, stored);
  }

 private:
  graph::Graph graph_;
  std::shared_ptr<CompiledGraph> main_;
  std::vector<std::shared_ptr<CompiledGraph>> others_;
};

}  // namespace

Result<std::unique_ptr<CompiledGraph>> compile_for(const graph::Graph& logical,
                                                   const std::vector<ProcessorKernels>& processors) {
  std::vector<std::unique_ptr<Backend>> backends;  // by ProcessorId
  std::vector<int> threads;                        // of those that share the main one's backend
  bool shared = true;
  for (const ProcessorKernels& each : processors) {
    SLUICE_ASSIGN(backends.emplace_back(), make_backend(each.backend));
    const bool same = backends.back()->name() == backends.front()->name();
    threads.push_back(same ? each.threads : processors.front().threads);
    shared = shared && same;
  }
  SLUICE_ASSIGN(std::unique_ptr<CompiledGraph> main, backends.front()->compile(logical, threads));
  if (shared) return main;
  graph::Graph graph = main->graph();
  std::vector<std::shared_ptr<CompiledGraph>> others(processors.size());
  for (std::size_t id = 1; id < processors.size(); ++id) {
    if (backends[id]->name() == backends.front()->name()) continue;
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      if (!backends[id]->takes_over(main->graph(), graph.op(op)))
        graph.op(op).no_kernel_on.push_back(as_id<ProcessorId>(id));
    }
    others[id] = backends[id]->kernels_for(main->graph(), processors[id].threads);
  }
  return std::unique_ptr<CompiledGraph>(
      std::make_unique<SharedGraph>(std::move(graph), std::move(main), std::move(others)));
}

}  // namespace sluice::kernels

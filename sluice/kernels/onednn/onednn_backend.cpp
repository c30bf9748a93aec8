#include "sluice/kernels/onednn/onednn_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/compute_threads.hpp"
#include "sluice/kernels/onednn/loops/convert.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/lowering.hpp"
#include "sluice/kernels/wait_policy.hpp"

namespace sluice::kernels {
namespace {

class OnednnGraph : public CompiledGraph {
 public:
  OnednnGraph(dnnl::engine engine, LoweredGraph lowered, std::vector<int> threads)
      : engine_(std::move(engine)), lowered_(std::move(lowered)), threads_(std::move(threads)) {}

  const graph::Graph& graph() const override { return lowered_.graph; }

  Status run(graph::OpIndex op, std::span<void* const> operands, const StepContext& context) override {
    const auto processor = as_index(lowered_.graph.op(op).processor);
    use_compute_threads(threads_.at(processor));  // a setting of the calling thread, which need not have compiled
    try {
      return lowered_.kernels.at(as_index(op))->run(operands, context);
    } catch (const dnnl::error& error) {
      const graph::Op& failed = lowered_.graph.op(op);
      return Error{ErrorCode::kUnsupported, "oneDNN failed in op " + failed.name + ": " + error.what()};
    }
  }

  std::unique_ptr<CompiledGraph> rescheduled(const graph::Rescheduled& step) const override {
    return std::make_unique<OnednnGraph>(engine_, reschedule_kernels(lowered_, step, engine_, threads_), threads_);
  }

  void to_plain(graph::TensorId tensor, const void* stored, std::span<float> plain) override {
    // oneDNN's memory objects know no const; a reorder only reads its source.
    const Layout& layout = stored_layout(tensor);
    if (!is_fp16(tensor)) return reorder(tensor, layout, const_cast<void*>(stored), plain_form(tensor), plain.data());
    std::vector<float> widened(as_index(stored_elements(layout)));
    convert(static_cast<const Float16*>(stored), std::ssize(widened), widened.data());
    reorder(tensor, with_type(layout, graph::DType::kF32), widened.data(), plain_form(tensor), plain.data());
  }

  void from_plain(graph::TensorId tensor, std::span<const float> plain, void* stored) override {
    const Layout& layout = stored_layout(tensor);
    auto* const values = const_cast<float*>(plain.data());
    if (!is_fp16(tensor)) return reorder(tensor, plain_form(tensor), values, layout, stored);
    std::vector<float> widened(as_index(stored_elements(layout)));
    reorder(tensor, plain_form(tensor), values, with_type(layout, graph::DType::kF32), widened.data());
    convert(widened.data(), std::ssize(widened), static_cast<Float16*>(stored));
  }

 private:
  const Layout& stored_layout(graph::TensorId tensor) const { return lowered_.layouts[as_index(tensor)]; }
  bool is_fp16(graph::TensorId tensor) const { return lowered_.graph.tensor(tensor).dtype == graph::DType::kF16; }
  Layout plain_form(graph::TensorId tensor) const {
    return row_major_form(stored_layout(tensor), dnnl::memory::data_type::f32);
  }

  void reorder(graph::TensorId id, const Layout& from, void* source, const Layout& to, void* target) {
    const graph::Tensor& tensor = lowered_.graph.tensor(id);
    SLUICE_CHECK(tensor.dtype == graph::DType::kF32 || graph::is_half(tensor.dtype),
                 tensor.name + " holds integers: it has no row-major fp32 form");
    if (same_bytes(from, to)) {
      std::memcpy(target, source, from.get_size());
      return;
    }
    use_compute_threads(threads_.front());
    dnnl::stream stream(engine_);
    dnnl::memory source_memory(from, engine_, source);
    dnnl::memory target_memory(to, engine_, target);
    dnnl::reorder(source_memory, target_memory).execute(stream, source_memory, target_memory);
    stream.wait();
  }

  dnnl::engine engine_;
  LoweredGraph lowered_;
  std::vector<int> threads_;                                        // by processor
  std::shared_ptr<WaitPolicy> waiting_ = WaitPolicy::of_process();  // as long as its ops may run
};

class OnednnBackend : public Backend {
 public:
  using Backend::compile;
  std::string name() const override { return "onednn"; }

  Result<std::unique_ptr<CompiledGraph>> compile(const graph::Graph& logical,
                                                 const std::vector<int>& threads) override {
    if (const int least = std::ranges::min(threads); least < 1) {
      return Error{ErrorCode::kBadInput, "onednn: asked for " + std::to_string(least) + " threads; use at least 1"};
    }
    if (const int most = std::ranges::max(threads); most > most_compute_threads()) {
      return Error{
          ErrorCode::kBadInput,
          fmt::format("onednn: {} threads are asked for, and OMP_THREAD_LIMIT allows {}; unset it, or use fewer "
                      "threads",
                      most, most_compute_threads())};
    }
    try {
      dnnl::engine engine(dnnl::engine::kind::cpu, 0);
      LoweredGraph lowered = lower_to_onednn(logical, engine, threads);
      return std::unique_ptr<CompiledGraph>(
          std::make_unique<OnednnGraph>(std::move(engine), std::move(lowered), threads));
    } catch (const dnnl::error& error) {
      return Error{ErrorCode::kUnsupported, "oneDNN has no kernel for an op of " + logical.name + ": " + error.what()};
    }
  }
};

}  // namespace

void forget_unused_kernels() {
  const int capacity = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);
  dnnl::set_primitive_cache_capacity(capacity);
}

std::unique_ptr<Backend> make_onednn_backend() { return std::make_unique<OnednnBackend>(); }

}  // namespace sluice::kernels

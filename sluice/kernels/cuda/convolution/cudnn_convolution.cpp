#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sluice/kernels/cuda/convolution/convolution.hpp"
#include "sluice/kernels/cuda/convolution/cudnn_descriptor.hpp"

namespace sluice::kernels::cuda {
namespace {

// What the tensors are called between an operation and its run.
constexpr std::int64_t kFine = 'f';
constexpr std::int64_t kCoarse = 'c';
constexpr std::int64_t kFilters = 'w';

constexpr std::int64_t kAlignment = 64;  // of operands, in bytes
constexpr int kMostEngines = 12;         // tried for one convolution

cudnnDataType_t type_of(graph::DType dtype) {
  return dtype == graph::DType::kBF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

Descriptor describe_tensor(std::int64_t name, const graph::Shape& shape, graph::DType dtype) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  graph::Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(dtype));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  tensor.finish();
  return tensor;
}

Descriptor describe_window(const graph::Window& window) {
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
  convolution.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {window.pad_top, window.pad_left});
  convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {window.pad_bottom, window.pad_right});
  convolution.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {window.dilation_h, window.dilation_w});
  convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {window.stride_h, window.stride_w});
  convolution.finish();
  return convolution;
}

// What cuDNN calls the operation of a way and its attributes.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t window, fine, filters, coarse, alpha, beta;
};

Names names_of(ConvolutionWay way) {
  switch (way) {
    case ConvolutionWay::kToCoarse:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionWay::kToFine:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionWay::kToFilters:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

// The operation by itself as a graph. cuDNN keeps what it needs of the parts.
Descriptor describe_graph(const Context& context, const ConvolutionShape& shape) {
  const auto type = [&](ConvolutionWay makes) { return shape.way == makes ? shape.target : shape.dtype; };
  const Names names = names_of(shape.way);
  Descriptor operation(names.operation);
  operation.set(names.window, describe_window(shape.window));
  operation.set(names.fine, describe_tensor(kFine, shape.fine, type(ConvolutionWay::kToFine)));
  operation.set(names.coarse, describe_tensor(kCoarse, shape.coarse, type(ConvolutionWay::kToCoarse)));
  operation.set(names.filters, describe_tensor(kFilters, shape.filters, type(ConvolutionWay::kToFilters)));
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  operation.finish();
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, context.cudnn());
  graph.finish();
  return graph;
}

// What cuDNN advises, the fastest first; nothing where it knows none.
std::vector<Descriptor> advised_engines(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!heuristics.try_finish()) return {};
  std::vector<Descriptor> engines;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int i = 0; i < kMostEngines; ++i)
    handles.push_back(engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  std::int64_t count = 0;
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               kMostEngines, &count, handles.data());
  const auto found = status == CUDNN_STATUS_SUCCESS ? std::clamp<std::int64_t>(count, 0, kMostEngines) : 0;
  engines.erase(engines.begin() + found, engines.end());
  return engines;
}

// Whether the engine adds in a fixed order and in full precision.
bool is_exact(const Descriptor& configured, graph::DType dtype) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(configured.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                 &count, &handle),
        "asking cuDNN for an engine");
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()),
        "asking cuDNN how an engine computes");
  return std::none_of(notes.begin(), notes.begin() + count, [&](cudnnBackendNumericalNote_t note) {
    const bool rounds = note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE || note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    return note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC || note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
           (rounds && dtype == graph::DType::kF32);
  });
}

// Source, other and target.
std::array<std::int64_t, 3> tensors_of(ConvolutionWay way) {
  switch (way) {
    case ConvolutionWay::kToCoarse:
      return {kFine, kFilters, kCoarse};
    case ConvolutionWay::kToFine:
      return {kCoarse, kFilters, kFine};
    case ConvolutionWay::kToFilters:
      break;
  }
  return {kFine, kCoarse, kFilters};
}

class CudnnMethod : public ConvolutionMethod {
 public:
  CudnnMethod(const Context& context, ConvolutionWay way, Descriptor plan)
      : context_(context), way_(way), plan_(std::move(plan)) {
    std::int64_t count = 0;
    check(cudnnBackendGetAttribute(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                   &workspace_bytes),
          "asking cuDNN for a workspace's size");
  }

  void run(const void* source, const void* other, void* target, void* workspace) const override {
    const std::array<const void*, 3> pointers{source, other, target};
    const std::array<std::int64_t, 3> names = tensors_of(way_);
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, names.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finish();
    check(cudnnBackendExecute(context_.cudnn(), plan_.get(), pack.get()), "a convolution");
  }

 private:
  const Context& context_;
  ConvolutionWay way_;
  Descriptor plan_;
};

// nullptr where the engine does not support the convolution after all.
std::shared_ptr<ConvolutionMethod> try_engine(const Context& context, ConvolutionWay way, const Descriptor& engine) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, context.cudnn());
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
  if (!plan.try_finish()) return nullptr;
  return std::make_shared<CudnnMethod>(context, way, std::move(plan));
}

}  // namespace

ConvolutionMethods cudnn_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch,
                                 const std::vector<std::string>& wanted) {
  const Descriptor graph = describe_graph(context, shape);
  ConvolutionMethods methods;
  for (const auto& [mode, mode_name] :
       {std::pair{CUDNN_HEUR_MODE_A, "cudnn"}, std::pair{CUDNN_HEUR_MODE_FALLBACK, "cudnn_fallback"}}) {
    const std::vector<Descriptor> engines = advised_engines(graph, mode);
    for (std::size_t i = 0; i < engines.size(); ++i) {
      const std::string name = fmt::format("{}_{}", mode_name, i);
      if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
      if (!is_exact(engines[i], shape.dtype)) continue;
      const auto method = try_engine(context, shape.way, engines[i]);
      if (method == nullptr || method->workspace_bytes > scratch) continue;
      method->name = name;
      methods.push_back(method);
    }
    if (!methods.empty() && wanted.empty()) break;
  }
  return methods;
}

}  // namespace sluice::kernels::cuda

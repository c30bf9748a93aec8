// ReLU, its gradient and sums of equal shapes, and the reorder between layouts.
//
// The first three are loops over stored elements, in whatever layout these have: zeros in padding stay zeros. Elements
// are independent, so outputs may overwrite inputs. Large results that overwrite nothing go around the caches, which
// spares reading the lines they fall on.
#include <algorithm>

#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/primitive_kernel.hpp"
#include "sluice/kernels/onednn/vectors/vector_code.hpp"

namespace sluice::kernels {
namespace {

// Calls `make(i, result)` for elements [i, i + 16) and stores the results, all threads sharing the work. What is left
// over is done in memory of its own: `make` must read through `Source`s.
constexpr std::int64_t kPart = 4096 * kLanes;  // elements of one part

// An input, or the copy of its last elements.
template <typename T>
struct Source {
  const T* data;
  T tail[kLanes] = {};

  void take_tail(std::int64_t begin, std::int64_t count) {
    std::copy(data + begin, data + count, tail);
    data = tail - begin;
  }
};

template <typename Width, typename T, typename Make>
SLUICE_INLINE inline void make_part(T* y, std::int64_t begin, std::int64_t end, bool streaming, const Make& make) {
  for (std::int64_t i = begin; i < end; i += kLanes) {
    Vector result;
    make(i, result);
    if (streaming) {
      stream<Width>(result, y + i);
    } else {
      store(result, y + i);
    }
  }
}

// y[i] = f(sources[0][i], ...) for all `count` elements; `function` takes vectors by reference, the result last.
template <typename T, typename Function, typename... Sources>
void make_elements(T* y, std::int64_t count, const Function& function, Source<Sources>... sources) {
  const std::int64_t whole = count / kLanes * kLanes;
  const bool overwrites = ((static_cast<const void*>(sources.data) == y) || ...);
  const bool streaming = !overwrites && count * std::int64_t{sizeof(T)} >= kStreamedBytes;
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (std::int64_t begin = 0; begin < whole; begin += kPart) {
      const std::int64_t end = std::min(begin + kPart, whole);
      vectorised([&](auto width) SLUICE_INLINE {
        make_part<decltype(width)>(y, begin, end, streaming, [&](std::int64_t i, Vector& result) SLUICE_INLINE {
          function(result, (sources.data + i)...);
        });
      });
    }
    if (streaming) finish_streaming();
  }
  if (whole == count) return;
  (sources.take_tail(whole, count), ...);
  T tail[kLanes];
  vectorised([&](auto) SLUICE_INLINE {
    Vector result;
    function(result, (sources.data + whole)...);
    store(result, tail);
  });
  std::copy(tail, tail + (count - whole), y + whole);
}

template <typename T>
Source<T> source(Operands operands, std::size_t index) {
  return {operand<const T>(operands, index)};
}

template <typename T>
Status relu(Operands operands, std::int64_t count) {
  make_elements(
      operand<T>(operands, 1), count,
      [](Vector& y, const T* x) SLUICE_INLINE {
        load(x, y);
        activate<graph::Activation::kRelu>(y);
      },
      source<T>(operands, 0));
  return {};
}

template <typename T>
Status relu_backward(Operands operands, std::int64_t count) {
  make_elements(
      operand<T>(operands, 2), count,
      [](Vector& dx, const T* y, const T* dy) SLUICE_INLINE {
        Vector output;
        load(y, output);
        load(dy, dx);
        dx = output > Vector{} ? dx : Vector{};
      },
      source<T>(operands, 0), source<T>(operands, 1));
  return {};
}

template <typename T, graph::Activation FusedActivation>
Status add(Operands operands, std::int64_t count) {
  make_elements(
      operand<T>(operands, 2), count,
      [](Vector& y, const T* a, const T* b) SLUICE_INLINE {
        Vector other;
        load(a, y);
        load(b, other);
        y += other;
        activate<FusedActivation>(y);
      },
      source<T>(operands, 0), source<T>(operands, 1));
  return {};
}

template <typename T>
Status add(Operands operands, std::int64_t count, graph::Activation activation) {
  switch (activation) {
    case graph::Activation::kNone:
      return add<T, graph::Activation::kNone>(operands, count);
    case graph::Activation::kRelu:
      return add<T, graph::Activation::kRelu>(operands, count);
    case graph::Activation::kRelu6:
      return add<T, graph::Activation::kRelu6>(operands, count);
  }
  return {};
}

// The layout that all operands take: the output's where it is decided, else a blocked one of an input, else any
// input's.
Layout common_layout(const KernelRequest& request) {
  if (request.outputs[0].layout) return *request.outputs[0].layout;
  const OperandRequest* chosen = nullptr;
  for (const OperandRequest& input : request.inputs)
    if (input.layout && (chosen == nullptr || is_plain(*chosen->layout))) chosen = &input;
  return chosen != nullptr ? *chosen->layout : preferred_image_layout(request.inputs[0].shape, request.inputs[0].dtype);
}

// `body(type, operands, count)` on all stored elements; `type` is a null pointer to the element type.
template <typename Body>
KernelPtr make_loop(const KernelRequest& request, const Body& body) {
  const Layout data = common_layout(request);
  const std::int64_t count = stored_elements(data);
  const bool narrow = request.outputs[0].dtype == graph::DType::kBF16;
  auto kernel = std::make_unique<LoopKernel>(
      request, [body, count, narrow](Operands operands, const StepContext& /*context*/) -> Status {
        return narrow ? body(static_cast<BFloat16*>(nullptr), operands, count)
                      : body(static_cast<float*>(nullptr), operands, count);
      });
  kernel->inputs.assign(request.inputs.size(), data);
  kernel->outputs = {data};
  return kernel;
}

template <typename Pointer>
using Pointed = std::remove_pointer_t<Pointer>;

KernelPtr make_relu(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_loop(request, [](auto type, Operands operands, std::int64_t count) {
    return relu<Pointed<decltype(type)>>(operands, count);
  });
}

KernelPtr make_relu_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_loop(request, [](auto type, Operands operands, std::int64_t count) {
    return relu_backward<Pointed<decltype(type)>>(operands, count);
  });
}

KernelPtr make_add(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_loop(request, [activation = request.as<graph::AddAttributes>().activation](auto type, Operands operands,
                                                                                         std::int64_t count) {
    return add<Pointed<decltype(type)>>(operands, count, activation);
  });
}

}  // namespace

KernelMakers elementwise_kernels() {
  return {
      {graph::OpKind::kRelu, make_relu},
      {graph::OpKind::kReluBackward, make_relu_backward},
      {graph::OpKind::kAdd, make_add},
  };
}

KernelPtr make_reorder(const Layout& from, const Layout& to, const dnnl::engine& engine) {
  // Where one side is row-major, it is read or written in the other's dimensions.
  const Layout source_layout = is_plain(from) ? row_major_form(to, type_of(from)) : from;
  const Layout target_layout = is_plain(to) && !is_plain(from) ? row_major_form(from, type_of(to)) : to;
  const dnnl::reorder::primitive_desc desc(engine, source_layout, engine, target_layout, user_scratchpad());
  auto kernel = std::make_unique<PrimitiveKernel>(dnnl::reorder(desc), desc, engine);
  kernel->inputs = {from};
  kernel->outputs = {to};
  kernel->bind(DNNL_ARG_FROM, 0, source_layout);
  kernel->bind(DNNL_ARG_TO, 1, target_layout);
  kernel->bind_scratchpad();
  return kernel;
}

}  // namespace sluice::kernels

// Tries the methods of a convolution on the GPU and keeps the fastest first.
#include <algorithm>
#include <bit>

#include "sluice/base/random.hpp"
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/convolution/convolution.hpp"
#include "sluice/kernels/cuda/launch.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr std::size_t kMostMethods = 3;  // kept for an op to choose among
constexpr int kRuns = 3;

// Device memory for a moment.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(Bytes bytes) {
    if (bytes > 0) check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "memory for trying convolutions");
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Values like data: zeros would be faster than they are in use.
void fill(cudaStream_t stream, void* data, Bytes bytes, graph::DType dtype) {
  if (dtype == graph::DType::kBF16) {
    auto* const halves = static_cast<std::uint16_t*>(data);
    for_each_element(stream, bytes / 2, [=] __device__(std::int64_t i) {
      const auto bits = static_cast<std::uint16_t>(mix64(static_cast<std::uint64_t>(i)));
      halves[i] = static_cast<std::uint16_t>(0x3f00U | (bits & 0x80ffU));  // +-0.5 to 2
    });
    return;
  }
  auto* const floats = static_cast<float*>(data);
  for_each_element(stream, bytes / 4, [=] __device__(std::int64_t i) {
    floats[i] = static_cast<float>(mix64(static_cast<std::uint64_t>(i)) >> 40) * 0x1p-23F - 1.0F;
  });
}

constexpr std::int64_t kParts = 1024;  // that a comparison is cut into

// result[0]: the largest difference of an element, infinite where one is no number; result[1]: the largest element. What
// follows in `result` is room for those of the parts.
void compare(cudaStream_t stream, const Cells& actual, const Cells& expected, std::int64_t count, float* result) {
  float* const of_part = result + 2;
  for_each_row(stream, kParts, [=] __device__(std::int64_t part, Block & block) {
    const std::int64_t begin = part * count / kParts;
    const std::int64_t length = (part + 1) * count / kParts - begin;
    const float difference = block.largest(length, [&](std::int64_t k) {
      const float distance = fabsf(actual[begin + k] - expected[begin + k]);
      return isnan(distance) ? INFINITY : distance;
    });
    const float largest = block.largest(length, [&](std::int64_t k) { return fabsf(expected[begin + k]); });
    if (!block.leads()) return;
    of_part[2 * part] = difference;
    of_part[2 * part + 1] = largest;
  });
  for_each_row(stream, 2, [=] __device__(std::int64_t which, Block & block) {
    const float all = block.largest(kParts, [&](std::int64_t part) { return of_part[2 * part + which]; });
    if (block.leads()) result[which] = all;
  });
}

// The operands of a convolution, and room for what its methods want.
class Trial {
 public:
  Trial(const Context& context, const ConvolutionShape& shape, Bytes workspace)
      : context_(context),
        source_(bytes_of(first(shape), shape.dtype)),
        other_(bytes_of(second(shape), shape.dtype)),
        target_(bytes_of(made(shape), shape.target)),
        expected_(bytes_of(made(shape), shape.target)),
        workspace_(workspace),
        difference_((2 + 2 * kParts) * static_cast<Bytes>(sizeof(float))),
        half_(shape.target == graph::DType::kBF16),
        elements_(graph::element_count(made(shape))) {
    fill(context.stream(), source_.data(), bytes_of(first(shape), shape.dtype), shape.dtype);
    fill(context.stream(), other_.data(), bytes_of(second(shape), shape.dtype), shape.dtype);
    check(cudaEventCreate(&begin_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
    direct_method(context, shape)->run(source_.data(), other_.data(), expected_.data(), nullptr);
  }
  ~Trial() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // Seconds of a run, the first left out.
  Seconds time(const ConvolutionMethod& method) const {
    const auto run = [&] { method.run(source_.data(), other_.data(), target_.data(), workspace_.data()); };
    run();
    check(cudaEventRecord(begin_, context_.stream()), "recording a time");
    for (int i = 0; i < kRuns; ++i) run();
    check(cudaEventRecord(end_, context_.stream()), "recording a time");
    check(cudaEventSynchronize(end_), "waiting for a convolution");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading a time");
    return milliseconds * 1e-3 / kRuns;
  }

  // Whether what the last run made is what the direct method makes, but for rounding.
  bool agrees() const {
    compare(context_.stream(), Cells(target_.data(), half_), Cells(expected_.data(), half_), elements_,
            static_cast<float*>(difference_.data()));
    float difference[2] = {};
    check(cudaMemcpyAsync(difference, difference_.data(), sizeof difference, cudaMemcpyDeviceToHost, context_.stream()),
          "reading a difference");
    check(cudaStreamSynchronize(context_.stream()), "reading a difference");
    return difference[0] <= (half_ ? 2e-2F : 1e-3F) * difference[1];
  }

 private:
  static const graph::Shape& first(const ConvolutionShape& shape) {
    return shape.way == ConvolutionWay::kToFine ? shape.coarse : shape.fine;
  }
  static const graph::Shape& second(const ConvolutionShape& shape) {
    return shape.way == ConvolutionWay::kToFilters ? shape.coarse : shape.filters;
  }
  static const graph::Shape& made(const ConvolutionShape& shape) {
    return shape.way == ConvolutionWay::kToCoarse ? shape.coarse
           : shape.way == ConvolutionWay::kToFine ? shape.fine
                                                  : shape.filters;
  }
  static Bytes bytes_of(const graph::Shape& shape, graph::DType dtype) {
    return graph::element_count(shape) * size_of(dtype);
  }

  const Context& context_;
  DeviceBuffer source_, other_, target_, expected_, workspace_, difference_;
  bool half_;  // what is made is bf16
  std::int64_t elements_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// The fastest first. One that fails when it runs, or computes something else, is left out.
ConvolutionMethods by_time(const Context& context, const ConvolutionShape& shape, const ConvolutionMethods& all) {
  Bytes workspace = 0;
  for (const auto& method : all) workspace = std::max(workspace, method->workspace_bytes);
  const Trial trial(context, shape, workspace);
  std::vector<std::pair<Seconds, std::shared_ptr<ConvolutionMethod>>> timed;
  for (const auto& method : all) {
    try {
      const Seconds seconds = trial.time(*method);
      if (trial.agrees()) timed.emplace_back(seconds, method);
    } catch (const gpu::CudaFailure&) {
      cudaGetLastError();
    }
  }
  std::ranges::stable_sort(timed, {}, [](const auto& each) { return each.first; });
  ConvolutionMethods sorted;
  for (const auto& [seconds, method] : timed) sorted.push_back(method);
  return sorted;
}

// Each with less workspace than the one before.
ConvolutionMethods worth_choosing(const ConvolutionMethods& sorted) {
  ConvolutionMethods kept;
  for (const auto& method : sorted) {
    const bool smaller = kept.empty() || method->workspace_bytes < kept.back()->workspace_bytes;
    if (smaller && kept.size() < kMostMethods) kept.push_back(method);
  }
  return kept;
}

ConvolutionMethods candidates(const Context& context, const ConvolutionShape& shape, Bytes scratch,
                              const std::vector<std::string>& wanted) {
  ConvolutionMethods all = cudnn_methods(context, shape, scratch, wanted);
  for (auto& method : flipped_methods(context, shape, scratch, wanted)) all.push_back(std::move(method));
  for (auto& method : pointwise_methods(context, shape, scratch)) all.push_back(std::move(method));
  return all;
}

// In the order of `names`; empty where one is missing.
ConvolutionMethods in_order(const ConvolutionMethods& all, const std::vector<std::string>& names) {
  ConvolutionMethods sorted;
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(all, [&](const auto& method) { return method->name == name; });
    if (found == all.end()) return {};
    sorted.push_back(*found);
  }
  return sorted;
}

ConvolutionMethods find_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch) {
  const std::string key = shape.key() + " in " + std::to_string(scratch);
  if (const auto names = context.tuned().find(key)) {
    ConvolutionMethods known = in_order(candidates(context, shape, scratch, *names), *names);
    if (!known.empty()) return known;
  }
  const ConvolutionMethods advised = candidates(context, shape, scratch, {});
  if (advised.empty()) return advised;
  const ConvolutionMethods kept = worth_choosing(by_time(context, shape, advised));
  std::vector<std::string> names;
  for (const auto& method : kept) names.push_back(method->name);
  // Another process may have kept other names meanwhile, and an older library others altogether.
  ConvolutionMethods order;
  if (context.tuned().keep(key, names)) order = in_order(advised, *context.tuned().find(key));
  return order.empty() ? worth_choosing(advised) : order;
}

}  // namespace

const ConvolutionMethods& convolution_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch) {
  // Rounded, so that graphs with slightly different memory share what has been measured.
  const auto granted = static_cast<Bytes>(std::bit_floor(static_cast<std::uint64_t>(std::max<Bytes>(scratch, 1))));
  const auto [found, is_new] = context.convolutions().try_emplace(shape.key() + " in " + std::to_string(granted));
  if (is_new) found->second = find_methods(context, shape, granted);
  return found->second;
}

}  // namespace sluice::kernels::cuda

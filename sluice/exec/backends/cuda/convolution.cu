// Convolution ops: the product by cuDNN, or directly where cuDNN has no algorithm; bias and activation beside it.
#include <algorithm>

#include "sluice/exec/backends/cuda/activation.cuh"
#include "sluice/exec/backends/cuda/cells.cuh"
#include "sluice/exec/backends/cuda/convolution.hpp"
#include "sluice/exec/backends/cuda/launch.cuh"

namespace sluice::cuda {
namespace {

// Plain numbers of a convolution, for the device.
struct Connections {
  std::int64_t batch, fine_channels, fine_rows, fine_columns, coarse_channels, coarse_rows, coarse_columns;
  std::int64_t group_fine, group_coarse;  // channels of one group
  Window window;

  explicit Connections(const ConvolutionShape& shape)
      : batch(shape.fine[0]),
        fine_channels(shape.fine[1]),
        fine_rows(shape.fine[2]),
        fine_columns(shape.fine[3]),
        coarse_channels(shape.coarse[1]),
        coarse_rows(shape.coarse[2]),
        coarse_columns(shape.coarse[3]),
        group_fine(shape.filters[1]),
        group_coarse(shape.coarse[1] / shape.groups),
        window(shape.window) {}
};

// y of one coarse pixel, over the taps of its window.
__device__ float coarse_value(const Connections& all, const Cells& fine, const Cells& filters, std::int64_t i) {
  const std::int64_t column = i % all.coarse_columns;
  const std::int64_t row = i / all.coarse_columns % all.coarse_rows;
  const std::int64_t channel = i / (all.coarse_columns * all.coarse_rows) % all.coarse_channels;
  const std::int64_t sample = i / (all.coarse_columns * all.coarse_rows * all.coarse_channels);
  const Window& window = all.window;
  float sum = 0;
  for (std::int64_t c = 0; c < all.group_fine; ++c) {
    const std::int64_t fine_channel = channel / all.group_coarse * all.group_fine + c;
    for (std::int64_t kh = 0; kh < window.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < window.kernel_w; ++kw) {
        const std::int64_t y = row * window.stride_h - window.pad_top + kh * window.dilation_h;
        const std::int64_t x = column * window.stride_w - window.pad_left + kw * window.dilation_w;
        if (y < 0 || y >= all.fine_rows || x < 0 || x >= all.fine_columns) continue;
        sum += fine[((sample * all.fine_channels + fine_channel) * all.fine_rows + y) * all.fine_columns + x] *
               filters[((channel * all.group_fine + c) * window.kernel_h + kh) * window.kernel_w + kw];
      }
  }
  return sum;
}

// dx of one fine pixel, over the coarse pixels whose window reaches it.
__device__ float fine_value(const Connections& all, const Cells& coarse, const Cells& filters, std::int64_t i) {
  const std::int64_t x = i % all.fine_columns;
  const std::int64_t y = i / all.fine_columns % all.fine_rows;
  const std::int64_t channel = i / (all.fine_columns * all.fine_rows) % all.fine_channels;
  const std::int64_t sample = i / (all.fine_columns * all.fine_rows * all.fine_channels);
  const Window& window = all.window;
  float sum = 0;
  for (std::int64_t c = 0; c < all.group_coarse; ++c) {
    const std::int64_t coarse_channel = channel / all.group_fine * all.group_coarse + c;
    for (std::int64_t kh = 0; kh < window.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < window.kernel_w; ++kw) {
        const std::int64_t down = y + window.pad_top - kh * window.dilation_h;
        const std::int64_t right = x + window.pad_left - kw * window.dilation_w;
        if (down < 0 || right < 0 || down % window.stride_h != 0 || right % window.stride_w != 0) continue;
        const std::int64_t row = down / window.stride_h;
        const std::int64_t column = right / window.stride_w;
        if (row >= all.coarse_rows || column >= all.coarse_columns) continue;
        const std::int64_t filter = coarse_channel * all.group_fine + channel % all.group_fine;
        sum += coarse[((sample * all.coarse_channels + coarse_channel) * all.coarse_rows + row) * all.coarse_columns +
                      column] *
               filters[(filter * window.kernel_h + kh) * window.kernel_w + kw];
      }
  }
  return sum;
}

// What coarse pixel k (counted over samples, rows, columns) adds to filter element i.
__device__ float filter_term(const Connections& all, const Cells& fine, const Cells& coarse, std::int64_t i,
                             std::int64_t k) {
  const Window& window = all.window;
  const std::int64_t kw = i % window.kernel_w;
  const std::int64_t kh = i / window.kernel_w % window.kernel_h;
  const std::int64_t c = i / (window.kernel_w * window.kernel_h) % all.group_fine;
  const std::int64_t channel = i / (window.kernel_w * window.kernel_h * all.group_fine);
  const std::int64_t column = k % all.coarse_columns;
  const std::int64_t row = k / all.coarse_columns % all.coarse_rows;
  const std::int64_t sample = k / (all.coarse_columns * all.coarse_rows);
  const std::int64_t y = row * window.stride_h - window.pad_top + kh * window.dilation_h;
  const std::int64_t x = column * window.stride_w - window.pad_left + kw * window.dilation_w;
  if (y < 0 || y >= all.fine_rows || x < 0 || x >= all.fine_columns) return 0;
  const std::int64_t fine_channel = channel / all.group_coarse * all.group_fine + c;
  return fine[((sample * all.fine_channels + fine_channel) * all.fine_rows + y) * all.fine_columns + x] *
         coarse[((sample * all.coarse_channels + channel) * all.coarse_rows + row) * all.coarse_columns + column];
}

// In place of cuDNN: every element by itself.
void run_directly(const ConvolutionShape& shape, cudaStream_t stream, const Cells& source, const Cells& other,
                  const Cells& target) {
  const Connections all(shape);
  if (shape.way == ConvolutionWay::kToCoarse) {
    for_each_element(stream, element_count(shape.coarse),
                     [=] __device__(std::int64_t i) { target.set(i, coarse_value(all, source, other, i)); });
  } else if (shape.way == ConvolutionWay::kToFine) {
    for_each_element(stream, element_count(shape.fine),
                     [=] __device__(std::int64_t i) { target.set(i, fine_value(all, source, other, i)); });
  } else {
    const std::int64_t terms = all.batch * all.coarse_rows * all.coarse_columns;
    for_each_row(stream, element_count(shape.filters), [=] __device__(std::int64_t i, Block & block) {
      const float sum = block.sum(terms, [&](std::int64_t k) { return filter_term(all, source, other, i, k); });
      if (block.leads()) target.set(i, sum);
    });
  }
}

void finish(const CudaCall& call) {
  const bool has_bias = call.inputs.size() > 2;
  const Activation activation = call.attributes().activation;
  if (!has_bias && activation == Activation::kNone) return;
  const Operand& output = call.output(0);
  const Cells bias = has_bias ? Cells(call.input(2).data, call.input(2).bf16()) : Cells();
  const Cells y(output.data, output.bf16());
  const auto channels = static_cast<std::int32_t>((*output.shape)[1]);
  const auto pixels = static_cast<std::int32_t>((*output.shape)[2] * (*output.shape)[3]);
  for_each_row(call.stream, (*output.shape)[0] * channels, [=] __device__(std::int64_t plane, Block & block) {
    const float shift = has_bias ? bias[plane % channels] : 0.0F;
    block.for_each(pixels, [&](std::int64_t k) {
      const std::int64_t i = plane * pixels + k;
      y.set(i, activate(activation, y[i] + shift));
    });
  });
}

void sum_bias_gradient(const CudaCall& call) {
  const Operand& gradient = call.input(1);
  const Cells dy(gradient.data, gradient.bf16());
  const Cells dbias(call.output(1).data, call.output(1).bf16());
  const std::int64_t channels = (*gradient.shape)[1];
  const std::int64_t pixels = (*gradient.shape)[2] * (*gradient.shape)[3];
  sum_rows<1>(
      call.stream, channels, gradient.elements() / channels, call.workspace,
      [=] __device__(std::int64_t channel, std::int64_t k) {
        Sums<1> one;
        one.of[0] = dy[(k / pixels * channels + channel) * pixels + k % pixels];
        return one;
      },
      [=] __device__(std::int64_t channel, const Sums<1>& sums) { dbias.set(channel, sums.of[0]); });
}

void widen(cudaStream_t stream, const Cells& from, const Cells& to, std::int64_t count) {
  for_each_element(stream, count, [=] __device__(std::int64_t i) { to.set(i, from[i]); });
}

bool goes_to_filters(OpKind kind) {
  return kind == OpKind::kConv2dBackwardWeights || kind == OpKind::kConvTranspose2dBackwardWeights;
}

// Which operands are the fine and the coarse image, by kind: fine, coarse, filters; inputs count from 0, -1 the output.
ConvolutionShape shape_of(const OpRequest& request) {
  const auto& in = request.inputs;
  const Shape& out = request.outputs[0];
  ConvolutionShape shape{
      .window = request.op.attributes.window, .groups = request.op.attributes.groups, .dtype = request.input_types[0]};
  const auto give = [&](ConvolutionWay way, const Shape& fine, const Shape& coarse, const Shape& filters) {
    shape.way = way;
    shape.fine = fine;
    shape.coarse = coarse;
    shape.filters = filters;
  };
  switch (request.op.kind) {
    case OpKind::kConv2d:
      give(ConvolutionWay::kToCoarse, in[0], out, in[1]);
      break;
    case OpKind::kConv2dBackwardData:
      give(ConvolutionWay::kToFine, out, in[0], in[1]);
      break;
    case OpKind::kConv2dBackwardWeights:
      give(ConvolutionWay::kToFilters, in[0], in[1], out);
      break;
    case OpKind::kConvTranspose2d:
      give(ConvolutionWay::kToFine, out, in[0], in[1]);
      break;
    case OpKind::kConvTranspose2dBackwardData:
      give(ConvolutionWay::kToCoarse, in[0], out, in[1]);
      break;
    default:
      give(ConvolutionWay::kToFilters, in[1], in[0], out);
  }
  shape.window.kernel_h = shape.filters[2];
  shape.window.kernel_w = shape.filters[3];
  return shape;
}

class Convolution : public PreparedOp {
 public:
  // `cudnn` may be nullptr: directly, then.
  Convolution(ConvolutionShape shape, std::shared_ptr<const CudnnConvolution> cudnn,
              const ConvolutionAlgorithm& algorithm, const OpRequest& request)
      : shape_(std::move(shape)),
        cudnn_(std::move(cudnn)),
        algorithm_(algorithm),
        narrow_bytes_(request.output_types[0] == shape_.dtype
                          ? 0
                          : align_up(element_count(shape_.filters) * size_of(shape_.dtype), kAlignment)) {
    implementation = cudnn_ == nullptr ? "direct" : "cudnn_" + std::to_string(algorithm_.number);
    workspace_bytes = cudnn_ == nullptr ? 0 : narrow_bytes_ + algorithm_.workspace_bytes;
    if (!goes_to_filters(request.op.kind) || request.outputs.size() < 2) return;
    const Shape& dy = request.inputs[1];
    workspace_bytes = std::max(workspace_bytes, sum_rows_workspace<1>(dy[1], element_count(dy) / dy[1]));
  }

  void run(const CudaCall& call) override {
    const bool to_filters = shape_.way == ConvolutionWay::kToFilters;
    // A transposed convolution's gradient reads the coarse image first.
    const bool swapped = call.op.kind == OpKind::kConvTranspose2dBackwardWeights;
    const Operand& source = call.input(swapped ? 1 : 0);
    const Operand& other = call.input(swapped ? 0 : 1);
    const Operand& target = call.output(0);
    if (cudnn_ == nullptr) {
      run_directly(shape_, call.stream, Cells(source.data, source.bf16()), Cells(other.data, other.bf16()),
                   Cells(target.data, target.bf16()));
    } else if (narrow_bytes_ == 0) {
      cudnn_->run(algorithm_, source.data, other.data, target.data, call.workspace);
    } else {
      cudnn_->run(algorithm_, source.data, other.data, call.workspace,
                  static_cast<std::byte*>(call.workspace) + narrow_bytes_);
      widen(call.stream, Cells(call.workspace, true), Cells(target.data, false), target.elements());
    }
    if (!to_filters) finish(call);
    if (to_filters && call.outputs.size() > 1) sum_bias_gradient(call);
  }

 private:
  static constexpr Bytes kAlignment = 256;

  ConvolutionShape shape_;
  std::shared_ptr<const CudnnConvolution> cudnn_;
  ConvolutionAlgorithm algorithm_;
  Bytes narrow_bytes_;  // of a bf16 gradient before it is widened
};

bool is_convolution(OpKind kind) {
  return kind == OpKind::kConv2d || kind == OpKind::kConv2dBackwardData || kind == OpKind::kConv2dBackwardWeights ||
         kind == OpKind::kConvTranspose2d || kind == OpKind::kConvTranspose2dBackwardData ||
         kind == OpKind::kConvTranspose2dBackwardWeights;
}

}  // namespace

Ways prepare_convolution(const Context& context, const OpRequest& request) {
  if (!is_convolution(request.op.kind)) return {};
  const ConvolutionShape shape = shape_of(request);
  Ways ways;
  if (is_symmetric(shape.window)) {
    const auto cudnn = std::make_shared<const CudnnConvolution>(context, shape);
    Bytes least = std::numeric_limits<Bytes>::max();
    for (const ConvolutionAlgorithm& algorithm : cudnn->algorithms(request.scratch)) {
      if (algorithm.workspace_bytes >= least) continue;  // slower and no smaller
      least = algorithm.workspace_bytes;
      ways.push_back(std::make_shared<Convolution>(shape, cudnn, algorithm, request));
    }
  }
  if (ways.empty()) ways.push_back(std::make_shared<Convolution>(shape, nullptr, ConvolutionAlgorithm{}, request));
  return ways;
}

}  // namespace sluice::cuda

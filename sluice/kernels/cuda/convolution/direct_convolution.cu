// Convolutions without a library: every element by itself, in the plainest way. For shapes that no library takes, and to
// check what libraries compute.
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/convolution/convolution.hpp"
#include "sluice/kernels/cuda/launch.cuh"

namespace sluice::kernels::cuda {
namespace {

// Plain numbers of a convolution, for the device.
struct Connections {
  std::int64_t batch, fine_channels, fine_rows, fine_columns, coarse_channels, coarse_rows, coarse_columns;
  std::int64_t group_fine, group_coarse;  // channels of one group
  graph::Window window;

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
  const graph::Window& window = all.window;
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
  const graph::Window& window = all.window;
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
  const graph::Window& window = all.window;
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

void run_directly(const ConvolutionShape& shape, cudaStream_t stream, const Cells& source, const Cells& other,
                  const Cells& target) {
  const Connections all(shape);
  if (shape.way == ConvolutionWay::kToCoarse) {
    for_each_element(stream, graph::element_count(shape.coarse),
                     [=] __device__(std::int64_t i) { target.set(i, coarse_value(all, source, other, i)); });
  } else if (shape.way == ConvolutionWay::kToFine) {
    for_each_element(stream, graph::element_count(shape.fine),
                     [=] __device__(std::int64_t i) { target.set(i, fine_value(all, source, other, i)); });
  } else {
    const std::int64_t terms = all.batch * all.coarse_rows * all.coarse_columns;
    for_each_row(stream, graph::element_count(shape.filters), [=] __device__(std::int64_t i, Block & block) {
      const float sum = block.sum(terms, [&](std::int64_t k) { return filter_term(all, source, other, i, k); });
      if (block.leads()) target.set(i, sum);
    });
  }
}

class DirectMethod : public ConvolutionMethod {
 public:
  DirectMethod(const Context& context, ConvolutionShape shape) : context_(context), shape_(std::move(shape)) {
    name = "direct";
  }

  void run(const void* source, const void* other, void* target, void* /*workspace*/) const override {
    const bool half = shape_.dtype == graph::DType::kBF16;
    run_directly(shape_, context_.stream(), Cells(const_cast<void*>(source), half),
                 Cells(const_cast<void*>(other), half), Cells(target, shape_.target == graph::DType::kBF16));
  }

 private:
  const Context& context_;
  ConvolutionShape shape_;
};

}  // namespace

std::shared_ptr<ConvolutionMethod> direct_method(const Context& context, const ConvolutionShape& shape) {
  return std::make_shared<DirectMethod>(context, shape);
}

}  // namespace sluice::kernels::cuda

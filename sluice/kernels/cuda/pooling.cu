// Pooling. Every pixel is written by one thread, which visits the pixels on the other side that it has to do with.
#include "sluice/kernels/cuda/activation.cuh"
#include "sluice/kernels/cuda/channels.cuh"
#include "sluice/kernels/cuda/divisor.cuh"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr std::int64_t kLargeWindow = 256;  // taps from which on a block averages a window together
constexpr int kWindowsAtOnce = 3;           // whose gradients a thread reads before it uses the first

// How windows lie along one dimension of an image. Extents of images fit in 32 bits.
struct Axis {
  int in, out;
  int kernel, stride, dilation, padding;
  Divisor by_stride;

  Axis(int in, int out, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t padding)
      : in(in),
        out(out),
        kernel(static_cast<int>(kernel)),
        stride(static_cast<int>(stride)),
        dilation(static_cast<int>(dilation)),
        padding(static_cast<int>(padding)),
        by_stride(stride) {}

  __device__ int start(int window) const { return window * stride - padding; }
  // The taps of a window that lie inside the image: [first_tap, end_tap).
  __device__ int first_tap(int window) const { return max(0, ceiling(-start(window))); }
  __device__ int end_tap(int window) const { return min(kernel, ceiling(in - start(window))); }
  __device__ int taps(int window) const { return max(0, end_tap(window) - first_tap(window)); }
  __device__ int pixel(int window, int tap) const { return start(window) + tap * dilation; }

  // The windows that may have a tap on a pixel: [first_window, end_window).
  __device__ int first_window(int pixel) const {
    return strides(max(0, pixel + padding - (kernel - 1) * dilation + stride - 1));
  }
  __device__ int end_window(int pixel) const { return min(out, strides(pixel + padding) + 1); }
  // Which tap of the window lies on the pixel, of those windows; -1: none does.
  __device__ int tap(int window, int pixel) const {
    const int distance = pixel - start(window);
    if (dilation == 1) return distance;
    return distance % dilation == 0 ? distance / dilation : -1;
  }

 private:
  __device__ int strides(int distance) const { return static_cast<int>(by_stride.quotient(distance)); }
  __device__ int ceiling(int distance) const {
    if (dilation == 1 || distance <= 0) return distance;
    return (distance + dilation - 1) / dilation;
  }
};

struct Pixel {
  std::int64_t plane;
  int row, column;
};

// The pixels of a tensor of images.
struct Pixels {
  int height, width;
  Divisor by_plane, by_width;

  explicit Pixels(const graph::Shape& shape)
      : height(static_cast<int>(shape[2])),
        width(static_cast<int>(shape[3])),
        by_plane(std::max<std::int64_t>(shape[2] * shape[3], 1)),
        by_width(std::max<std::int64_t>(shape[3], 1)) {}

  __device__ std::int64_t plane_begin(std::int64_t plane) const { return plane * height * width; }
  __device__ Pixel at(std::int64_t i) const {
    const std::int64_t plane = by_plane.quotient(i);
    const std::int64_t in_plane = i - plane_begin(plane);
    const std::int64_t row = by_width.quotient(in_plane);
    return {plane, static_cast<int>(row), static_cast<int>(in_plane - row * width)};
  }
};

// x: the side with the image, y: the side with a pixel for every window.
struct PoolingSpace {
  Pixels x, y;
  Axis rows, columns;

  PoolingSpace(const graph::Shape& x_shape, const graph::Shape& y_shape, const graph::Window& window)
      : x(x_shape),
        y(y_shape),
        rows(x.height, y.height, window.kernel_h, window.stride_h, window.dilation_h, window.pad_top),
        columns(x.width, y.width, window.kernel_w, window.stride_w, window.dilation_w, window.pad_left) {}

  // tap(offset in x, position in the window), in the order of positions.
  template <typename Tap>
  __device__ void for_each_tap(const Pixel& out, const Tap& tap) const {
    const std::int64_t plane = x.plane_begin(out.plane);
    for (int kh = rows.first_tap(out.row); kh < rows.end_tap(out.row); ++kh) {
      const std::int64_t row = plane + static_cast<std::int64_t>(rows.pixel(out.row, kh)) * x.width;
      for (int kw = columns.first_tap(out.column); kw < columns.end_tap(out.column); ++kw)
        tap(row + columns.pixel(out.column, kw), kh * columns.kernel + kw);
    }
  }

  // window(row of y, column of y, offset in y, position in the window) of every window with a tap on the pixel of x.
  template <typename Visit>
  __device__ void for_each_window(const Pixel& in, const Visit& window) const {
    const std::int64_t plane = y.plane_begin(in.plane);
    for (int row = rows.first_window(in.row); row < rows.end_window(in.row); ++row) {
      const int kh = rows.tap(row, in.row);
      for (int column = columns.first_window(in.column); column < columns.end_window(in.column); ++column) {
        const int kw = columns.tap(column, in.column);
        if (kh < 0 || kw < 0) continue;
        window(row, column, plane + static_cast<std::int64_t>(row) * y.width + column, kh * columns.kernel + kw);
      }
    }
  }
};

// Equal values: the first in the window wins. What is not a number wins until something comes after it.
void max_pool(const CudaCall& call) {
  const PoolingSpace space(*call.input(0).shape, *call.output(0).shape, call.as<graph::PoolAttributes>().window);
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  auto* const index = static_cast<std::uint8_t*>(call.output(1).data);
  const graph::Activation activation = call.as<graph::PoolAttributes>().activation;
  for_each_element(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i) {
    float best = 0;
    int best_position = -1;
    space.for_each_tap(space.y.at(i), [&](std::int64_t in, int position) {
      const float value = x[in];
      if (best_position >= 0 && value <= best) return;
      best = value;
      best_position = position;
    });
    y.set(i, activate(activation, best));
    index[i] = static_cast<std::uint8_t>(best_position);
  });
}

// The gradients of a pack of neighbours in a row of x: every window with a tap on one of them is looked at once, in the
// order of rows and columns, and its gradient goes to the neighbour that it came from.
template <typename Packs>
struct MaxGradients {
  using Single = typename Packs::Single;
  using Gradients = Pack<Packs::kWidth>;

  PoolingSpace space;
  Single dy;
  const std::uint8_t* index;

  // From window `first` of a row that lies at `begin`, whose taps on `in` have positions from `position` on. Those from
  // `end` on are read as the last before and add nothing.
  __device__ void add_windows(Gradients& sums, int first, int end, std::int64_t begin, int position, int column) const {
    typename Single::Stored gradient[kWindowsAtOnce];
    int tap[kWindowsAtOnce];
#pragma unroll
    for (int i = 0; i < kWindowsAtOnce; ++i) {
      const std::int64_t at = begin + min(first + i, end - 1);
      tap[i] = index[at] - position;
      gradient[i] = dy.read(at);
    }
#pragma unroll
    for (int i = 0; i < kWindowsAtOnce; ++i) {
      const bool taken = first + i < end && tap[i] >= 0 && tap[i] < space.columns.kernel;
      const int neighbour = taken ? space.columns.pixel(first + i, tap[i]) - column : -1;
#pragma unroll
      for (int k = 0; k < Packs::kWidth; ++k)
        if (neighbour == k) sums.of[k] += Single::values(gradient[i]).of[0];
    }
  }

  // `in`: the first of the neighbours.
  __device__ Gradients at(const Pixel& in) const {
    Gradients sums;
    const int first = space.columns.first_window(in.column);
    const int end = space.columns.end_window(in.column + Packs::kWidth - 1);
    const int end_row = space.rows.end_window(in.row);
    for (int row = space.rows.first_window(in.row); row < end_row; ++row) {
      const int kh = space.rows.tap(row, in.row);
      if (kh < 0) continue;
      const std::int64_t begin = space.y.plane_begin(in.plane) + static_cast<std::int64_t>(row) * space.y.width;
      for (int column = first; column < end; column += kWindowsAtOnce)
        add_windows(sums, column, end, begin, kh * space.columns.kernel, in.column);
    }
    return sums;
  }
};

template <typename Packs>
void max_pool_backward_to(const CudaCall& call) {
  const PoolingSpace space(*call.output(0).shape, *call.input(0).shape, call.as<graph::PoolAttributes>().window);
  const MaxGradients<Packs> gradients{space, typename Packs::Single(call.input(0)),
                                      static_cast<const std::uint8_t*>(call.input(1).data)};
  const Packs dx(call.output(0));
  for_each_element(call.stream, call.output(0).elements() / Packs::kWidth,
                   [=] __device__(std::int64_t i) { dx.write(i, gradients.at(space.x.at(i * Packs::kWidth))); });
}

void max_pool_backward(const CudaCall& call) {
  with_packs((*call.output(0).shape)[3], {call.input(0), call.output(0)},
             [&](auto packs) { max_pool_backward_to<typename decltype(packs)::type>(call); });
}

// What a window's sum is divided by: all its taps, or those inside the image.
struct Divisors {
  PoolingSpace space;
  bool count_padding;

  __device__ float of(int row, int column) const {
    const int taps =
        count_padding ? space.rows.kernel * space.columns.kernel : space.rows.taps(row) * space.columns.taps(column);
    return static_cast<float>(taps);
  }
};

// Few large windows, as of a pooling of whole images: a block for each.
void average_large_windows(const CudaCall& call, const Divisors& divisors) {
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  for_each_row(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i, Block & block) {
    const PoolingSpace& space = divisors.space;
    const Pixel out = space.y.at(i);
    const std::int64_t plane = space.x.plane_begin(out.plane);
    const int width = space.columns.taps(out.column);
    const int taps = space.rows.taps(out.row) * width;
    const float sum = block.sum(taps, [&](std::int64_t tap) {
      const int kh = space.rows.first_tap(out.row) + static_cast<int>(tap) / width;
      const int kw = space.columns.first_tap(out.column) + static_cast<int>(tap) % width;
      const std::int64_t row = space.rows.pixel(out.row, kh);
      return x[plane + row * space.x.width + space.columns.pixel(out.column, kw)];
    });
    if (block.leads()) y.set(i, sum / divisors.of(out.row, out.column));
  });
}

void average_pool(const CudaCall& call) {
  const graph::Window& window = call.as<graph::PoolAttributes>().window;
  const Divisors divisors{{*call.input(0).shape, *call.output(0).shape, window},
                          call.as<graph::PoolAttributes>().count_padding};
  if (window.kernel_h * window.kernel_w >= kLargeWindow) return average_large_windows(call, divisors);
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  for_each_element(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i) {
    const Pixel out = divisors.space.y.at(i);
    float sum = 0;
    divisors.space.for_each_tap(out, [&](std::int64_t in, int) { sum += x[in]; });
    y.set(i, sum / divisors.of(out.row, out.column));
  });
}

void average_pool_backward(const CudaCall& call) {
  const Divisors divisors{{*call.output(0).shape, *call.input(0).shape, call.as<graph::PoolAttributes>().window},
                          call.as<graph::PoolAttributes>().count_padding};
  const Cells dy = cells(call.input(0));
  const Cells dx = cells(call.output(0));
  for_each_element(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i) {
    float sum = 0;
    divisors.space.for_each_window(divisors.space.x.at(i), [&](int row, int column, std::int64_t out, int) {
      sum += dy[out] / divisors.of(row, column);
    });
    dx.set(i, sum);
  });
}

}  // namespace

KernelEntries pooling_kernels() {
  return {
      {graph::OpKind::kMaxPool, max_pool},
      {graph::OpKind::kMaxPoolBackward, max_pool_backward},
      {graph::OpKind::kAvgPool, average_pool},
      {graph::OpKind::kAvgPoolBackward, average_pool_backward},
  };
}

}  // namespace sluice::kernels::cuda

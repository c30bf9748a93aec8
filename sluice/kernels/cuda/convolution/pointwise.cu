// Convolutions whose filters are one pixel: for every sample a matrix product of channels by pixels.
//
// With a stride the coarse image sees some of the fine image's pixels only: these are gathered into a smaller image
// first, or scattered from one, and the others become zeros.
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/convolution/convolution.hpp"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/product.hpp"

namespace sluice::kernels::cuda {
namespace {

bool is_pointwise(const ConvolutionShape& shape) {
  const graph::Window& window = shape.window;
  return shape.groups == 1 && shape.filters[2] == 1 && shape.filters[3] == 1 && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0;
}

// Sizes of the products: fine [samples, fine, pixels], coarse [samples, coarse, pixels], filters [coarse, fine].
struct PointwiseSizes {
  std::int64_t samples, fine, coarse, pixels;

  explicit PointwiseSizes(const ConvolutionShape& shape)
      : samples(shape.fine[0]),
        fine(shape.fine[1]),
        coarse(shape.coarse[1]),
        pixels(shape.coarse[2] * shape.coarse[3]) {}

  MatrixLayout fine_image(bool transposed = false) const { return {pixels, transposed, fine * pixels}; }
  MatrixLayout coarse_image() const { return {pixels, false, coarse * pixels}; }
};

// How many samples' products are made before they are summed: a divisor of all, so that the products stay in the cache.
std::int64_t samples_at_once(const ConvolutionShape& shape) {
  constexpr Bytes kProducts = 32 * kMiB;
  const PointwiseSizes of(shape);
  if (shape.way != ConvolutionWay::kToFilters) return of.samples;
  std::int64_t most =
      std::clamp<std::int64_t>(kProducts / (of.coarse * of.fine * size_of(graph::DType::kF32)), 1, of.samples);
  while (of.samples % most != 0) --most;
  return most;
}

ProductShape product_of(const ConvolutionShape& shape) {
  const PointwiseSizes of(shape);
  ProductShape product{.batches = samples_at_once(shape), .factors = shape.dtype, .result = shape.target};
  if (shape.way == ConvolutionWay::kToCoarse) {
    product.rows = of.coarse, product.columns = of.pixels, product.depth = of.fine;
    product.a = {of.fine}, product.b = of.fine_image(), product.c = of.coarse_image();
  } else if (shape.way == ConvolutionWay::kToFine) {
    product.rows = of.fine, product.columns = of.pixels, product.depth = of.coarse;
    product.a = {of.fine, true}, product.b = of.coarse_image(), product.c = of.fine_image();
  } else {  // a product of each sample, to be summed
    product.rows = of.coarse, product.columns = of.fine, product.depth = of.pixels;
    product.a = of.coarse_image(), product.b = of.fine_image(true), product.c = {of.fine, false, of.coarse * of.fine};
    product.result = graph::DType::kF32;
  }
  return product;
}

// `first`: there is nothing in the filters yet to add to.
void sum_samples(cudaStream_t stream, const float* products, float* filters, std::int64_t count, std::int64_t samples,
                 bool first) {
  for_each_element(stream, count, [=] __device__(std::int64_t i) {
    float sum = first ? 0.0F : filters[i];
    for (std::int64_t sample = 0; sample < samples; ++sample) sum += products[sample * count + i];
    filters[i] = sum;
  });
}

// Which pixels of the fine image the coarse one sees.
struct Stride {
  int fine_rows, fine_columns, coarse_rows, coarse_columns, rows, columns;

  explicit Stride(const ConvolutionShape& shape)
      : fine_rows(static_cast<int>(shape.fine[2])),
        fine_columns(static_cast<int>(shape.fine[3])),
        coarse_rows(static_cast<int>(shape.coarse[2])),
        coarse_columns(static_cast<int>(shape.coarse[3])),
        rows(static_cast<int>(shape.window.stride_h)),
        columns(static_cast<int>(shape.window.stride_w)) {}

  bool is_one() const { return rows == 1 && columns == 1; }
};

// One block a plane, so that its threads count pixels in 32 bits.
void gather(cudaStream_t stream, const Stride& stride, std::int64_t planes, const Cells& fine, const Cells& seen) {
  for_each_row(stream, planes, [=] __device__(std::int64_t plane, Block & block) {
    const int pixels = stride.coarse_rows * stride.coarse_columns;
    block.for_each(pixels, [&](std::int64_t k) {
      const int row = static_cast<int>(k) / stride.coarse_columns * stride.rows;
      const int column = static_cast<int>(k) % stride.coarse_columns * stride.columns;
      seen.set(plane * pixels + k, fine[(plane * stride.fine_rows + row) * stride.fine_columns + column]);
    });
  });
}

void scatter(cudaStream_t stream, const Stride& stride, std::int64_t planes, const Cells& seen, const Cells& fine) {
  for_each_row(stream, planes, [=] __device__(std::int64_t plane, Block & block) {
    const int pixels = stride.fine_rows * stride.fine_columns;
    block.for_each(pixels, [&](std::int64_t k) {
      const int row = static_cast<int>(k) / stride.fine_columns;
      const int column = static_cast<int>(k) % stride.fine_columns;
      const int seen_row = row / stride.rows;
      const int seen_column = column / stride.columns;
      const bool is_seen = row == seen_row * stride.rows && column == seen_column * stride.columns &&
                           seen_row < stride.coarse_rows && seen_column < stride.coarse_columns;
      const std::int64_t from = (plane * stride.coarse_rows + seen_row) * stride.coarse_columns + seen_column;
      fine.set(plane * pixels + k, is_seen ? seen[from] : 0.0F);
    });
  });
}

class PointwiseMethod : public ConvolutionMethod {
 public:
  PointwiseMethod(const Context& context, const ConvolutionShape& shape, Bytes scratch)
      : context_(context),
        way_(shape.way),
        sizes_(shape),
        stride_(shape),
        half_(shape.dtype == graph::DType::kBF16),
        at_once_(samples_at_once(shape)),
        product_(context, product_of(shape), scratch) {
    name = "cublaslt";
    if (!stride_.is_one()) seen_bytes_ = room(sizes_.samples * sizes_.fine * sizes_.pixels * size_of(shape.dtype));
    if (way_ == ConvolutionWay::kToFilters)
      products_bytes_ = room(at_once_ * sizes_.coarse * sizes_.fine * size_of(graph::DType::kF32));
    workspace_bytes = seen_bytes_ + products_bytes_ + product_.workspace_bytes();
  }

  void run(const void* source, const void* other, void* target, void* workspace) const override {
    auto* const seen = static_cast<std::byte*>(workspace);
    std::byte* const products = seen + seen_bytes_;
    std::byte* const rest = products + products_bytes_;
    if (way_ == ConvolutionWay::kToFine) {
      product_.run({.a = other, .b = source, .c = seen_bytes_ == 0 ? target : seen}, rest, context_.stream());
      if (seen_bytes_ > 0) scatter(context_.stream(), stride_, planes(), Cells(seen, half_), Cells(target, half_));
      return;
    }
    if (seen_bytes_ > 0) {
      gather(context_.stream(), stride_, planes(), Cells(const_cast<void*>(source), half_), Cells(seen, half_));
      source = seen;
    }
    if (way_ == ConvolutionWay::kToCoarse) {
      product_.run({.a = other, .b = source, .c = target}, rest, context_.stream());
    } else {
      sum_products(source, other, static_cast<float*>(target), products, rest);
    }
  }

 private:
  void sum_products(const void* fine, const void* coarse, float* filters, std::byte* products, void* rest) const {
    const Bytes element = half_ ? graph::size_of(graph::DType::kBF16) : graph::size_of(graph::DType::kF32);
    for (std::int64_t sample = 0; sample < sizes_.samples; sample += at_once_) {
      const auto moved = [&](const void* image, std::int64_t channels) {
        return static_cast<const std::byte*>(image) + sample * channels * sizes_.pixels * element;
      };
      product_.run({.a = moved(coarse, sizes_.coarse), .b = moved(fine, sizes_.fine), .c = products}, rest,
                   context_.stream());
      sum_samples(context_.stream(), reinterpret_cast<const float*>(products), filters, sizes_.coarse * sizes_.fine,
                  at_once_, sample == 0);
    }
  }

  static Bytes room(Bytes bytes) { return align_up(bytes, kWorkspaceAlignment); }
  std::int64_t planes() const { return sizes_.samples * sizes_.fine; }

  const Context& context_;
  ConvolutionWay way_;
  PointwiseSizes sizes_;
  Stride stride_;
  bool half_;             // images and filters are bf16
  std::int64_t at_once_;  // samples whose products lie beside each other
  Product product_;
  Bytes seen_bytes_ = 0;      // of the fine pixels that are seen
  Bytes products_bytes_ = 0;  // of the samples' products
};

}  // namespace

ConvolutionMethods pointwise_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch) {
  const graph::DType made = shape.way == ConvolutionWay::kToFilters ? graph::DType::kF32 : shape.dtype;
  if (!is_pointwise(shape) || shape.target != made) return {};
  constexpr Bytes kEnough = 4 * kMiB;
  auto method = std::make_shared<PointwiseMethod>(context, shape, std::min(kEnough, scratch));
  if (method->workspace_bytes > scratch) return {};
  return {method};
}

}  // namespace sluice::kernels::cuda

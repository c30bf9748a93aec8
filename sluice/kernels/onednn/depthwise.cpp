#include "sluice/kernels/onednn/depthwise.hpp"

#include <omp.h>

#include <algorithm>

#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/vector_code.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kMostColumns = 7;  // of a window at once: their sums and what they are made of stay in registers

// One row of dy against the row of x that row `kh` of the window sees.
struct Row {
  const float* x;
  const float* dy;
  std::int64_t first;  // the window's first column here
};

class DepthwiseBackwardWeights : public Kernel {
 public:
  explicit DepthwiseBackwardWeights(const KernelRequest& request)
      : window_(request.as<graph::ConvolutionAttributes>().window),
        samples_(request.inputs[0].shape[0]),
        blocks_(request.inputs[0].shape[1] / kChannelBlock),
        height_(request.inputs[0].shape[2]),
        width_(request.inputs[0].shape[3]),
        rows_(request.inputs[1].shape[2]),
        columns_(request.inputs[1].shape[3]),
        kernel_rows_(request.outputs[0].shape[2]),
        kernel_columns_(request.outputs[0].shape[3]) {
    implementation = "loop";
    inputs = {blocked_image_layout(request.inputs[0].shape), blocked_image_layout(request.inputs[1].shape)};
    const graph::Shape& dw = request.outputs[0].shape;
    outputs = {Layout({dw[0], 1, 1, dw[2], dw[3]}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::Goihw16g)};
    if (request.outputs.size() == 2) outputs.push_back(plain_layout(request.outputs[1].shape));
  }

  // Shared by blocks of channels, and with fewer of these than threads by rows of the window, too.
  Status run(Operands operands, const StepContext& /*context*/) override {
    const auto* const x = operand<const float>(operands, 0);
    const auto* const dy = operand<const float>(operands, 1);
    auto* const dw = operand<float>(operands, 2);
    auto* const dbias = outputs.size() == 2 ? operand<float>(operands, 3) : nullptr;
    const std::int64_t parts = blocks_ >= omp_get_max_threads() ? 1 : kernel_rows_;
#pragma omp parallel for schedule(static)
    for (std::int64_t job = 0; job < blocks_ * parts; ++job) {
      const std::int64_t block = job / parts;
      const std::int64_t from = job % parts * kernel_rows_ / parts;
      const std::int64_t to = (job % parts + 1) * kernel_rows_ / parts;
      vectorised([&](auto) SLUICE_INLINE {
        for (std::int64_t kh = from; kh < to; ++kh) std::fill_n(sums(dw, block, kh), kernel_columns_ * kLanes, 0.0F);
        for (std::int64_t sample = 0; sample < samples_; ++sample) add_image(x, dy, sample, block, from, to, dw);
        if (dbias != nullptr && from == 0) sum_block(dy, block, dbias + block * kLanes);
      });
    }
    return {};
  }

 private:
  float* sums(float* dw, std::int64_t block, std::int64_t kh) const {
    return dw + (block * kernel_rows_ + kh) * kernel_columns_ * kLanes;
  }
  const float* image(const float* of, std::int64_t sample, std::int64_t block, std::int64_t pixels) const {
    return of + (sample * blocks_ + block) * pixels * kLanes;
  }

  // Row by row of dy, so that the rows of x around it are used while they are near.
  SLUICE_INLINE void add_image(const float* x, const float* dy, std::int64_t sample, std::int64_t block,
                               std::int64_t from, std::int64_t to, float* dw) const {
    const float* const x_image = image(x, sample, block, height_ * width_);
    const float* const dy_image = image(dy, sample, block, rows_ * columns_);
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t kh = from; kh < to; ++kh) {
        const std::int64_t h = row * window_.stride_h - window_.pad_top + kh * window_.dilation_h;
        if (h < 0 || h >= height_) continue;
        const float* const x_row = x_image + h * width_ * kLanes;
        const float* const dy_row = dy_image + row * columns_ * kLanes;
        for (std::int64_t first = 0; first < kernel_columns_; first += kMostColumns) {
          add_columns<kMostColumns>({x_row, dy_row, first}, std::min(kMostColumns, kernel_columns_ - first),
                                    sums(dw, block, kh) + first * kLanes);
        }
      }
    }
  }

  template <std::int64_t Columns>
  SLUICE_INLINE void add_columns(const Row& row, std::int64_t count, float* to) const {
    if (count == Columns) return add_row<Columns>(row, to);
    if constexpr (Columns > 1) add_columns<Columns - 1>(row, count, to);
  }

  // dw[kh, first + k] += sum over j of x[j stride - pad + (first + k) dilation] dy[j], for k < Columns
  template <std::int64_t Columns>
  SLUICE_INLINE void add_row(const Row& row, float* to) const {
    const std::int64_t step = window_.dilation_w;
    const std::int64_t stride = window_.stride_w;
    const std::int64_t start = row.first * step - window_.pad_left;
    const std::int64_t reach = (Columns - 1) * step;
    // Where all columns of the window lie in the image: [inner, inner_end).
    const std::int64_t inner = std::clamp<std::int64_t>((stride - 1 - start) / stride, 0, columns_);
    const std::int64_t last = width_ - 1 - reach - start;
    const std::int64_t inner_end = std::clamp<std::int64_t>(last < 0 ? 0 : last / stride + 1, inner, columns_);
    Vector partial[Columns] = {};
    const auto add_checked = [&](std::int64_t begin, std::int64_t end) SLUICE_INLINE {
      for (std::int64_t j = begin; j < end; ++j) {
        for (std::int64_t k = 0; k < Columns; ++k) {
          const std::int64_t w = start + j * stride + k * step;
          if (w >= 0 && w < width_) add_product(row.x + w * kLanes, row.dy + j * kLanes, partial[k]);
        }
      }
    };
    add_checked(0, inner);
    for (std::int64_t j = inner; j < inner_end; ++j) {
      const float* const x = row.x + (start + j * stride) * kLanes;
#pragma GCC unroll 7
      for (std::int64_t k = 0; k < Columns; ++k) add_product(x + k * step * kLanes, row.dy + j * kLanes, partial[k]);
    }
    add_checked(inner_end, columns_);
    for (std::int64_t k = 0; k < Columns; ++k) {
      Vector sum;
      load(to + k * kLanes, sum);
      store(sum + partial[k], to + k * kLanes);
    }
  }

  SLUICE_INLINE static void add_product(const float* x, const float* dy, Vector& sum) {
    Vector a;
    Vector b;
    load(x, a);
    load(dy, b);
    sum += a * b;
  }

  // dbias = the sum of dy, row by row as well.
  SLUICE_INLINE void sum_block(const float* dy, std::int64_t block, float* to) const {
    Vector total{};
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      for (std::int64_t row = 0; row < rows_; ++row) {
        const float* const from = image(dy, sample, block, rows_ * columns_) + row * columns_ * kLanes;
        Vector partial{};
        for (std::int64_t j = 0; j < columns_; ++j) {
          Vector value;
          load(from + j * kLanes, value);
          partial += value;
        }
        total += partial;
      }
    }
    store(total, to);
  }

  graph::Window window_;
  std::int64_t samples_, blocks_, height_, width_, rows_, columns_, kernel_rows_, kernel_columns_;
};

}  // namespace

bool is_known_depthwise(const KernelRequest& request) {
  const OperandRequest& x = request.inputs[0];
  const auto is_f32 = [](const OperandRequest& each) { return each.dtype == graph::DType::kF32; };
  return request.kind == graph::OpKind::kConv2dBackwardWeights && x.shape.size() == 4 &&
         request.as<graph::ConvolutionAttributes>().groups == x.shape[1] && request.outputs[0].shape[0] == x.shape[1] &&
         x.shape[1] % kChannelBlock == 0 && std::ranges::all_of(request.inputs, is_f32) &&
         std::ranges::all_of(request.outputs, is_f32);
}

KernelPtr make_depthwise_backward_weights(const KernelRequest& request) {
  return std::make_unique<DepthwiseBackwardWeights>(request);
}

}  // namespace sluice::kernels

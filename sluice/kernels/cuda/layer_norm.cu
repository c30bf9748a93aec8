// Norms within a sample: layer norm along the last dimension, local response norm across neighbouring channels.
#include "sluice/kernels/cuda/divisor.cuh"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr std::int64_t kWantedThreads = 1 << 17;  // that sum columns
constexpr std::int64_t kLeastRows = 16;           // that one of them adds up

// x as rows of its last dimension.
struct Rows {
  std::int64_t count, features;

  explicit Rows(const graph::Shape& shape)
      : count(graph::element_count(shape) / std::max<std::int64_t>(shape.back(), 1)), features(shape.back()) {}

  // Into how many runs of rows the sums of columns are cut.
  std::int64_t chunks() const {
    const std::int64_t wanted = kWantedThreads / std::max<std::int64_t>(features, 1);
    return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(count / kLeastRows, 1));
  }
};

// The mean first, then the squares of distances from it: the row is read again, but nothing cancels.
void layer_norm(const CudaCall& call) {
  const Rows rows(*call.input(0).shape);
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  const float* const scale_shift = floats(call.input(1));
  float* const stats = floats(call.output(1));
  const float epsilon = call.as<graph::NormAttributes>().epsilon;
  for_each_row(call.stream, rows.count, [=] __device__(std::int64_t row, Block & block) {
    const std::int64_t features = rows.features;
    const std::int64_t begin = row * features;
    const auto share = 1.0F / static_cast<float>(features);
    const float mean = block.sum(features, [&](std::int64_t k) { return x[begin + k]; }) * share;
    const float squares = block.sum(features, [&](std::int64_t k) {
      const float distance = x[begin + k] - mean;
      return distance * distance;
    });
    const float inverse = rsqrtf(squares * share + epsilon);
    block.for_each(features, [&](std::int64_t k) {
      y.set(begin + k, (x[begin + k] - mean) * inverse * scale_shift[k] + scale_shift[features + k]);
    });
    if (!block.leads()) return;
    stats[row] = mean;
    stats[rows.count + row] = inverse;
  });
}

// What the backward pass reads.
struct LayerGradientOperands {
  Rows rows;
  Cells x, dy;
  const float* scale_shift;
  const float* stats;

  explicit LayerGradientOperands(const CudaCall& call)
      : rows(*call.input(0).shape),
        x(cells(call.input(0))),
        dy(cells(call.input(1))),
        scale_shift(floats(call.input(2))),
        stats(floats(call.input(3))) {}

  __device__ float normalized(std::int64_t row, std::int64_t k) const {
    return (x[row * rows.features + k] - stats[row]) * stats[rows.count + row];
  }
  __device__ float gradient(std::int64_t row, std::int64_t k) const { return dy[row * rows.features + k]; }
  __device__ float scaled(std::int64_t row, std::int64_t k) const { return gradient(row, k) * scale_shift[k]; }
};

// Sums down the columns, of a run of rows by each thread, then of the runs; neighbouring threads take neighbouring
// columns. The workspace is [runs, 2, features].
void sum_scale_gradients(const CudaCall& call, const LayerGradientOperands& of) {
  const std::int64_t features = of.rows.features;
  const std::int64_t chunks = of.rows.chunks();
  auto* const partial = static_cast<float*>(call.workspace);
  for_each_element(call.stream, chunks * features, [=] __device__(std::int64_t i) {
    const std::int64_t chunk = i / features;
    const std::int64_t k = i % features;
    float dscale = 0;
    float dshift = 0;
    for (std::int64_t row = chunk * of.rows.count / chunks; row < (chunk + 1) * of.rows.count / chunks; ++row) {
      dscale += of.gradient(row, k) * of.normalized(row, k);
      dshift += of.gradient(row, k);
    }
    partial[chunk * 2 * features + k] = dscale;
    partial[(chunk * 2 + 1) * features + k] = dshift;
  });
  float* const dscale_shift = floats(call.output(1));
  for_each_element(call.stream, 2 * features, [=] __device__(std::int64_t i) {
    float sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * 2 * features + i];
    dscale_shift[i] = sum;
  });
}

// dx may overwrite dy: the columns have been summed before, and a row's thread writes elements that no other thread
// reads.
void layer_norm_backward(const CudaCall& call) {
  const LayerGradientOperands of(call);
  sum_scale_gradients(call, of);
  const Cells dx = cells(call.output(0));
  for_each_row(call.stream, of.rows.count, [=] __device__(std::int64_t row, Block & block) {
    const std::int64_t features = of.rows.features;
    const Sums<2> sums = block.sums<2>(features, [&](std::int64_t k) {
      const float scaled = of.scaled(row, k);
      return Sums<2>{{scaled, scaled * of.normalized(row, k)}};
    });
    const float mean = sums.of[0] / static_cast<float>(features);
    const float mean_along_x = sums.of[1] / static_cast<float>(features);
    const float inverse = of.stats[of.rows.count + row];
    block.for_each(features, [&](std::int64_t k) {
      dx.set(row * features + k, inverse * (of.scaled(row, k) - mean - of.normalized(row, k) * mean_along_x));
    });
  });
}

Bytes layer_norm_backward_workspace(const graph::Op&, const std::vector<graph::Shape>& inputs,
                                    const std::vector<graph::Shape>&) {
  const Rows rows(inputs.at(0));
  return rows.chunks() * 2 * rows.features * static_cast<Bytes>(sizeof(float));
}

// How a local response norm divides: y = x / scale^beta, scale = bias + alpha / size * sum of squares of the channels
// from `before` in front to `behind` behind.
struct ResponseNorm {
  Cells x;
  std::int64_t channels, pixels, before, behind;
  Divisor by_pixels, by_channels;
  float factor, bias, beta;

  explicit ResponseNorm(const CudaCall& call) : ResponseNorm(call, call.as<graph::ResponseNormAttributes>()) {}
  ResponseNorm(const CudaCall& call, const graph::ResponseNormAttributes& norm)
      : x(cells(call.input(0))),
        channels((*call.input(0).shape)[1]),
        pixels(call.input(0).elements() / ((*call.input(0).shape)[0] * channels)),
        before((norm.channels - 1) / 2),
        behind(norm.channels / 2),
        by_pixels(pixels),
        by_channels(channels),
        factor(norm.alpha / static_cast<float>(norm.channels)),
        bias(norm.bias),
        beta(norm.beta) {}

  __device__ std::int64_t channel(std::int64_t i) const { return by_channels.remainder(by_pixels.quotient(i)); }

  // `c` is the channel of element i.
  __device__ float scale(std::int64_t i, std::int64_t c) const {
    float squares = 0;
    for (std::int64_t k = max(-before, -c); k <= min(behind, channels - 1 - c); ++k) {
      const float other = x[i + k * pixels];
      squares += other * other;
    }
    return bias + factor * squares;
  }
};

void local_response_norm(const CudaCall& call) {
  const ResponseNorm norm(call);
  const Cells y = cells(call.output(0));
  for_each_element(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i) {
    y.set(i, norm.x[i] * powf(norm.scale(i, norm.channel(i)), -norm.beta));
  });
}

// An x reaches its own y directly, and through their scales every y whose channels include it: those from `behind` in
// front to `before` behind. Scales are made again rather than kept, for lack of memory.
void local_response_norm_backward(const CudaCall& call) {
  const ResponseNorm norm(call);
  const Cells dy = cells(call.input(1));
  const Cells dx = cells(call.output(0));
  for_each_element(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i) {
    const std::int64_t c = norm.channel(i);
    float through_scales = 0;
    for (std::int64_t k = max(-norm.behind, -c); k <= min(norm.before, norm.channels - 1 - c); ++k) {
      const std::int64_t other = i + k * norm.pixels;
      through_scales += dy[other] * norm.x[other] * powf(norm.scale(other, c + k), -norm.beta - 1);
    }
    const float direct = dy[i] * powf(norm.scale(i, c), -norm.beta);
    dx.set(i, direct - 2 * norm.beta * norm.factor * norm.x[i] * through_scales);
  });
}

}  // namespace

KernelEntries layer_norm_kernels() {
  return {
      {graph::OpKind::kLayerNorm, layer_norm},
      {graph::OpKind::kLayerNormBackward, layer_norm_backward, layer_norm_backward_workspace},
      {graph::OpKind::kLocalResponseNorm, local_response_norm},
      {graph::OpKind::kLocalResponseNormBackward, local_response_norm_backward},
  };
}

}  // namespace sluice::kernels::cuda

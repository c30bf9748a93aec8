#include "sluice/train/synthetic_data.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include "sluice/base/check.hpp"
#include "sluice/base/random.hpp"
#include "sluice/train/epoch_order.hpp"

namespace sluice {
namespace {

constexpr float kNoise = 0.5F;  // noise is uniform in [-kNoise, kNoise); the waves have amplitude 1

enum Stream : std::uint64_t { kLabel, kPattern, kShift, kNoiseBase };

// What one class looks like in one channel: bias + sin(row wave) * sin(column wave).
struct ChannelPattern {
  float bias, row_frequency, column_frequency, row_phase, column_phase;
};

ChannelPattern pattern_of(std::uint64_t seed, std::int64_t label, std::int64_t channel) {
  const auto draw = [&](std::uint64_t index) {
    return random_uniform(seed, kPattern, static_cast<std::uint64_t>((label << 8) + channel) * 8 + index);
  };
  constexpr auto kTurn = static_cast<float>(2 * std::numbers::pi);
  return {2 * draw(0) - 1, 1 + std::floor(4 * draw(1)), 1 + std::floor(4 * draw(2)), kTurn * draw(3), kTurn * draw(4)};
}

// sin(2 pi frequency x / size + phase) for x in [0, size).
void fill_wave(std::vector<float>& wave, float frequency, float phase, float shift) {
  const float turn = static_cast<float>(2 * std::numbers::pi) * frequency / static_cast<float>(wave.size());
  for (std::size_t x = 0; x < wave.size(); ++x) wave[x] = std::sin(turn * (static_cast<float>(x) + shift) + phase);
}

// Two pixels' noise from each 64-bit draw.
void fill_row(float* row, const std::vector<float>& columns, float scale, float bias, std::uint64_t noise_key) {
  constexpr float kUnit = kNoise * 0x1p-31F;
  const std::size_t width = columns.size();
  for (std::size_t x = 0; x < width; x += 2) {
    const std::uint64_t bits = mix64(noise_key + 0x9e3779b97f4a7c15ULL * (x + 1));
    row[x] = bias + scale * columns[x] + kUnit * static_cast<float>(static_cast<std::int32_t>(bits >> 32));
    if (x + 1 < width) {
      row[x + 1] = bias + scale * columns[x + 1] + kUnit * static_cast<float>(static_cast<std::int32_t>(bits));
    }
  }
}

void fill_sample(const ImageSetShape& shape, std::uint64_t seed, std::int64_t sample, std::int64_t label,
                 float* image) {
  const auto size = static_cast<std::size_t>(shape.image_size);
  const auto index = static_cast<std::uint64_t>(sample);
  const float max_shift = static_cast<float>(size) / 16;
  const float row_shift = max_shift * random_uniform(seed, kShift, 2 * index);
  const float column_shift = max_shift * random_uniform(seed, kShift, 2 * index + 1);
  std::vector<float> rows(size);
  std::vector<float> columns(size);
  for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
    const ChannelPattern pattern = pattern_of(seed, label, channel);
    fill_wave(rows, pattern.row_frequency, pattern.row_phase, row_shift);
    fill_wave(columns, pattern.column_frequency, pattern.column_phase, column_shift);
    for (std::size_t y = 0; y < size; ++y) {
      const auto line = static_cast<std::uint64_t>(channel) * size + y;
      fill_row(image, columns, rows[y], pattern.bias, random_bits(seed, kNoiseBase + index, line));
      image += size;
    }
  }
}

}  // namespace

Status SyntheticData::fill(std::int64_t step, std::span<float> images, std::span<std::int32_t> labels) {
  SLUICE_CHECK(static_cast<std::int64_t>(labels.size()) == shape_.batch, "one label for each sample of the batch");
  SLUICE_CHECK(static_cast<std::int64_t>(images.size()) == shape_.batch * shape_.sample_floats(),
               "images fill the batch");
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < shape_.batch; ++i) {
    const std::int64_t sample = sample_at(seed_, step * shape_.batch + i, kSamples);
    const auto label = static_cast<std::int64_t>(random_bits(seed_, kLabel, static_cast<std::uint64_t>(sample)) %
                                                 static_cast<std::uint64_t>(shape_.classes));
    labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(label);
    fill_sample(shape_, seed_, sample, label, images.data() + i * shape_.sample_floats());
  }
  return {};
}

}  // namespace sluice

#include "sluice/data/synthetic_images.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"

namespace sluice::data {
namespace {

constexpr float kNoiseAmplitude =
    0.5F;  // noise is uniform in [-kNoiseAmplitude, kNoiseAmplitude); the waves have amplitude 1

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
  constexpr float kUnit = kNoiseAmplitude * 0x1p-31F;
  const std::size_t width = columns.size();
  for (std::size_t x = 0; x < width; x += 2) {
    const std::uint64_t bits = mix64(noise_key + 0x9e3779b97f4a7c15ULL * (x + 1));
    row[x] = bias + scale * columns[x] + kUnit * static_cast<float>(static_cast<std::int32_t>(bits >> 32));
    if (x + 1 < width) {
      row[x + 1] = bias + scale * columns[x + 1] + kUnit * static_cast<float>(static_cast<std::int32_t>(bits));
    }
  }
}

}  // namespace

Result<std::int32_t> SyntheticImages::read(std::int64_t sample, std::span<float> image) const {
  const auto index = static_cast<std::uint64_t>(sample);
  const auto label =
      static_cast<std::int64_t>(random_bits(seed_, kLabel, index) % static_cast<std::uint64_t>(classes_));
  const auto height = as_index(shape_.height);
  const auto width = as_index(shape_.width);
  const float row_shift = static_cast<float>(height) / 16 * random_uniform(seed_, kShift, 2 * index);
  const float column_shift = static_cast<float>(width) / 16 * random_uniform(seed_, kShift, 2 * index + 1);
  std::vector<float> rows(height);
  std::vector<float> columns(width);
  float* row = image.data();
  for (std::int64_t channel = 0; channel < shape_.channels; ++channel) {
    const ChannelPattern pattern = pattern_of(seed_, label, channel);
    fill_wave(rows, pattern.row_frequency, pattern.row_phase, row_shift);
    fill_wave(columns, pattern.column_frequency, pattern.column_phase, column_shift);
    for (std::size_t y = 0; y < height; ++y, row += width) {
      const auto line = static_cast<std::uint64_t>(channel) * height + y;
      fill_row(row, columns, rows[y], pattern.bias, random_bits(seed_, kNoiseBase + index, line));
    }
  }
  return static_cast<std::int32_t>(label);
}

}  // namespace sluice::data

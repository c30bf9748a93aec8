#include "sluice/data/batch_source.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/base/first_exception.hpp"
#include "sluice/base/random.hpp"
#include "sluice/data/epoch_order.hpp"

namespace sluice::data {
namespace {

constexpr std::uint64_t kMask = stream_of("masked positions");
constexpr std::uint64_t kSegment = stream_of("segments");
constexpr std::uint64_t kNoise = stream_of("noise");
constexpr float kMaskedShare = 0.15F;
constexpr std::size_t kContents = as_index(graph::Content::kIntegers) + 1;

template <typename T>
std::span<T> typed(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

// Where the values of each content go; absent contents are empty.
struct BatchSource::Targets {
  struct Target {
    std::span<std::byte> bytes;
    std::int64_t sample_elements = 0;
    std::int64_t bound = 0;

    explicit operator bool() const { return sample_elements > 0; }
    template <typename T>
    std::span<T> row(std::int64_t index) const {
      return typed<T>(bytes).subspan(as_index(index * sample_elements), as_index(sample_elements));
    }
  };

  std::array<Target, kContents> by_content;
  const Target& operator[](graph::Content content) const { return by_content[as_index(content)]; }
};

BatchSource::BatchSource(std::vector<InputTensor> tensors, std::unique_ptr<ImageSet> images,
                         std::unique_ptr<TokenSet> tokens, SampleOrder order, std::uint64_t seed)
    : tensors_(std::move(tensors)),
      images_(std::move(images)),
      tokens_(std::move(tokens)),
      order_(order),
      seed_(seed) {}

std::int64_t BatchSource::sample_count() const { return images_ ? images_->size() : tokens_ ? tokens_->size() : 0; }

std::int64_t BatchSource::sample_of(std::int64_t position) const {
  const std::int64_t count = std::max<std::int64_t>(1, sample_count());
  return order_ == SampleOrder::kShuffled ? sample_at(seed_, position, count) : position % count;
}

Status BatchSource::fill(std::int64_t batch, std::span<const std::span<std::byte>> tensors) {
  SLUICE_CHECK(tensors.size() == tensors_.size(), "as many tensors as the input op has outputs");
  Targets targets;
  std::int64_t samples = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const InputTensor& each = tensors_[i];
    SLUICE_CHECK(std::ssize(tensors[i]) == 4 * each.elements(), "the size of " + each.name);
    targets.by_content[as_index(each.content)] = {tensors[i], each.sample_elements(), each.bound};
    samples = std::max(samples, each.batch());
  }
  std::int64_t failed_row = samples;
  std::optional<Error> failure;  // of the first sample that failed, whichever thread read it
  FirstException thrown;
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < samples; ++row) {
    Status status;
    thrown.run([&] { status = fill_sample(targets, batch * samples + row, row); });
    if (status.ok()) continue;
#pragma omp critical(sluice_batch_source)
    if (row < failed_row) {
      failed_row = row;
      failure = status.error();
    }
  }
  thrown.rethrow();
  if (failure) return *failure;
  return {};
}

Status BatchSource::fill_sample(const Targets& targets, std::int64_t position, std::int64_t row) const {
  const std::int64_t sample = sample_of(position);
  if (images_) SLUICE_RETURN_IF_ERROR(fill_image(targets, sample, row));
  if (tokens_) SLUICE_RETURN_IF_ERROR(fill_tokens(targets, sample, position, row));
  const auto index = static_cast<std::uint64_t>(position);
  if (const auto& segments = targets[graph::Content::kSegments]) {
    const auto values = segments.row<std::int32_t>(row);
    const std::size_t first = random_bits(seed_, kSegment, index) % values.size();
    std::fill_n(values.begin(), first, 0);
    std::fill(iterator_at(values, first), values.end(), 1);
  }
  if (const auto& noise = targets[graph::Content::kNoise]) {
    const auto values = noise.row<float>(row);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_normal(seed_, kNoise, index * values.size() + i);
  }
  return {};
}

Status BatchSource::fill_image(const Targets& targets, std::int64_t sample, std::int64_t row) const {
  SLUICE_ASSIGN(const std::int32_t label, images_->read(sample, targets[graph::Content::kImages].row<float>(row)));
  if (const auto& labels = targets[graph::Content::kLabels]) std::ranges::fill(labels.row<std::int32_t>(row), label);
  return {};
}

Status BatchSource::fill_tokens(const Targets& targets, std::int64_t sample, std::int64_t position,
                                std::int64_t row) const {
  const auto& tokens = targets[graph::Content::kTokens];
  const auto& next = targets[graph::Content::kNextTokens];
  const auto& masked = targets[graph::Content::kMaskedTokens];
  const auto& hidden = targets[graph::Content::kHiddenTokens];
  const std::int64_t length = std::max({tokens.sample_elements, next.sample_elements, masked.sample_elements});
  std::vector<std::int32_t> text(as_index(length + 1));
  SLUICE_RETURN_IF_ERROR(tokens_->read(sample, text));
  if (tokens) std::ranges::copy_n(text.begin(), length, tokens.row<std::int32_t>(row).begin());
  if (next) std::ranges::copy_n(text.begin() + 1, length, next.row<std::int32_t>(row).begin());
  if (!masked && !hidden) return {};
  const auto first = static_cast<std::uint64_t>(position * length);
  const auto always = static_cast<std::int64_t>(random_bits(seed_, kMask, ~static_cast<std::uint64_t>(position)) %
                                                static_cast<std::uint64_t>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    const auto at = as_index(i);
    const bool hides = i == always || random_uniform(seed_, kMask, first + at) < kMaskedShare;
    if (masked) {
      masked.row<std::int32_t>(row)[at] = hides ? static_cast<std::int32_t>(masked.bound - 1) : text[at];
    }
    if (hidden) hidden.row<std::int32_t>(row)[at] = hides ? text[at] : -1;
  }
  return {};
}

}  // namespace sluice::data

#include "sluice/train/variants/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/parse.hpp"
#include "sluice/base/random.hpp"

namespace sluice::train {
namespace {

constexpr std::uint64_t kDrawnSize = stream_of("sizes of inputs");

Result<std::int64_t> positive(std::string_view text) { return parse_integer(text, 1); }

Error not_sizes(std::string_view text, const std::string& why) {
  return {ErrorCode::kBadInput,
          fmt::format("'{}' is not a list of sizes: {}; write 20,25,40, or 16-64:16 for 16, 32, 48, 64", text, why)};
}

Error too_many(std::string_view text) {
  return not_sizes(text, fmt::format("more than {} sizes, each of which needs a plan of its own", kMostSizes));
}

// Adds what one item of a list stands for: "20" or "16-64:16".
Status add_item(std::string_view item, std::string_view text, std::vector<std::int64_t>& sizes) {
  const auto refuse = [&] { return not_sizes(text, fmt::format("'{}' is no size above 0", item)); };
  const std::size_t dash = item.find('-');
  if (dash == std::string_view::npos) {
    const auto size = positive(item);
    if (!size) return refuse();
    sizes.push_back(*size);
    return {};
  }
  const std::size_t colon = item.find(':', dash);
  const auto first = positive(item.substr(0, dash));
  const auto last = positive(item.substr(dash + 1, colon == std::string_view::npos ? colon : colon - dash - 1));
  const auto stride = colon == std::string_view::npos ? Result<std::int64_t>(1) : positive(item.substr(colon + 1));
  if (!first || !last || !stride || *last < *first) return refuse();
  if ((*last - *first) / *stride >= static_cast<std::int64_t>(kMostSizes)) return too_many(text);
  for (std::int64_t size = *first; size <= *last; size += *stride) sizes.push_back(size);
  return {};
}

}  // namespace

std::string to_string(const VariantKey& key) {
  const std::string path = key.path.empty() ? "" : "path " + key.path;
  const std::string size = key.size == 0 ? "" : fmt::format("size {}", key.size);
  return path + (path.empty() || size.empty() ? "" : ", ") + size;
}

SizeBuckets::SizeBuckets(std::int64_t smallest, std::int64_t largest) {
  SLUICE_CHECK(smallest > 0 && smallest <= largest, "buckets are over a range of sizes above 0");
  const double ratio = static_cast<double>(largest) / static_cast<double>(smallest);
  for (int bucket = 1; bucket < kMost; ++bucket) {
    const double begin = static_cast<double>(smallest) * std::pow(ratio, static_cast<double>(bucket) / kMost);
    begins_.push_back(static_cast<std::int64_t>(std::ceil(begin)));
  }
}

int SizeBuckets::of(std::int64_t size) const {
  return static_cast<int>(std::ranges::upper_bound(begins_, size) - begins_.begin());
}

Result<std::vector<std::int64_t>> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    SLUICE_RETURN_IF_ERROR(add_item(rest.substr(0, comma), text, sizes));
    if (sizes.size() > kMostSizes) return too_many(text);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::ranges::sort(sizes);
  const auto twice = std::ranges::adjacent_find(sizes);
  if (twice != sizes.end()) return not_sizes(text, fmt::format("{} is in it twice", *twice));
  return sizes;
}

std::function<VariantKey(std::int64_t step)> drawn_sizes(std::vector<std::int64_t> sizes, std::uint64_t seed) {
  SLUICE_CHECK(!sizes.empty(), "a size is drawn from at least one");
  return [sizes = std::move(sizes), seed](std::int64_t step) {
    const std::uint64_t bits = random_bits(seed, kDrawnSize, static_cast<std::uint64_t>(step));
    return VariantKey{.path = {}, .size = sizes[bits % sizes.size()]};
  };
}

}  // namespace sluice::train

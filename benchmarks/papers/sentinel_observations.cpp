#include "benchmarks/papers/sentinel_observations.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "sluice/report/text_table.hpp"

namespace sluice {
namespace {

using Found = const Characterization&;

double percent(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }
double megabytes(Bytes bytes) { return static_cast<double>(bytes) / 1e6; }

std::size_t at(Heat heat) { return static_cast<std::size_t>(heat); }

std::optional<double> share_short_lived(Found found) {
  const double short_lived = static_cast<double>(found.lifetimes.short_lived.all().tensors);
  return percent(short_lived, short_lived + static_cast<double>(found.lifetimes.long_lived.all().tensors));
}

std::optional<double> share_small_of_short_lived(Found found) {
  const BySize& short_lived = found.lifetimes.short_lived;
  return percent(static_cast<double>(short_lived.small.tensors), static_cast<double>(short_lived.all().tensors));
}

TensorGroup all_tensors(const HotAndCold& heat) {
  TensorGroup all;
  for (const HotAndCold::Row& row : heat.rows) {
    all.tensors += row.tensors.tensors;
    all.bytes += row.tensors.bytes;
  }
  return all;
}

std::optional<double> share_of_tensors(Found found, Heat heat) {
  if (!found.heat) return std::nullopt;
  return percent(static_cast<double>(found.heat->rows[at(heat)].tensors.tensors),
                 static_cast<double>(all_tensors(*found.heat).tensors));
}

std::optional<double> megabytes_of(Found found, Heat heat) {
  if (!found.heat) return std::nullopt;
  return megabytes(found.heat->rows[at(heat)].tensors.bytes);
}

std::optional<double> share_of_bytes(Found found, Heat heat) {
  if (!found.heat) return std::nullopt;
  return percent(static_cast<double>(found.heat->rows[at(heat)].tensors.bytes),
                 static_cast<double>(all_tensors(*found.heat).bytes));
}

std::optional<double> cold_by_tensor(Found found) {
  if (!found.false_sharing) return std::nullopt;
  return megabytes(found.false_sharing->tensor_bytes[at(Heat::kCold)]);
}

std::optional<double> cold_by_page(Found found) {
  if (!found.false_sharing) return std::nullopt;
  return megabytes(found.false_sharing->page_bytes[at(Heat::kCold)]);
}

struct Comparison {
  PublishedFigure published;
  std::function<std::optional<double>(Found)> here;
};

// The one place of published figures: Sentinel, section III-B, and its Table III.
std::vector<Comparison> comparisons() {
  constexpr std::string_view kFirst = "observation 1", kSecond = "observation 2", kThird = "observation 3";
  return {
      {{"tensors that are short-lived", 92, "%", kFirst}, share_short_lived},
      {{"of them small", 98, "%", kFirst}, share_small_of_short_lived},
      {{"tensors with < 10 accesses", 52.3, "%", kSecond}, [](Found f) { return share_of_tensors(f, Heat::kCold); }},
      {{"  their bytes", 907, "MB", kSecond}, [](Found f) { return megabytes_of(f, Heat::kCold); }},
      {{"  of all tensors' bytes", 54, "%", kSecond}, [](Found f) { return share_of_bytes(f, Heat::kCold); }},
      {{"bytes with > 100 accesses", 4, "MB", kSecond}, [](Found f) { return megabytes_of(f, Heat::kHot); }},
      {{"  of all tensors' bytes", 0.2, "%", kSecond}, [](Found f) { return share_of_bytes(f, Heat::kHot); }},
      {{"1-10 accesses, by tensor", 908, "MB", kThird}, cold_by_tensor},
      {{"1-10 accesses, by page", 764, "MB", kThird}, cold_by_page},
      {{"peak memory", 14100, "MB", "table III"}, [](Found f) { return std::optional(megabytes(f.live.peak)); }},
  };
}

}  // namespace

std::vector<ComparedFigure> compare_with_published(Found found) {
  std::vector<ComparedFigure> figures;
  for (const Comparison& each : comparisons()) figures.push_back({each.published, each.here(found)});
  return figures;
}

std::string describe_published(std::span<const ComparedFigure> figures) {
  TextTable table({{"ResNet-32, CIFAR-10, batch 128", Align::kLeft, 0},
                   {"paper", Align::kRight, 0},
                   {"here", Align::kRight, 0},
                   {"in Sentinel", Align::kLeft, 0}});
  const auto text = [](double value, std::string_view unit) {
    return fmt::format("{:.{}f} {}", value, unit == "%" ? 1 : 0, unit);
  };
  for (const auto& [published, here] : figures) {
    table.add_row({std::string(published.what), text(published.value, published.unit),
                   here ? text(*here, published.unit) : "not measured", std::string(published.source)});
  }
  return table.text();
}

nlohmann::json published_json(std::span<const ComparedFigure> figures) {
  nlohmann::json rows = json::array();
  for (const ComparedFigure& figure : figures) {
    nlohmann::json row{{"what", figure.published.what},
                       {"published", figure.published.value},
                       {"here", nullptr},
                       {"unit", figure.published.unit},
                       {"source", figure.published.source}};
    if (figure.here) row["here"] = *figure.here;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace sluice

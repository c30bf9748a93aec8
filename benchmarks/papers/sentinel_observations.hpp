// What the papers publish of ResNet-32 on CIFAR-10 with batch 128, beside what is found here.
//
// Figures are compared, never matched: where they differ, explain_differences() says why.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/report/characterization.hpp"

namespace sluice {

inline constexpr std::string_view kPublishedModel = "resnet32";
inline constexpr std::int64_t kPublishedBatch = 128;

struct PublishedFigure {
  std::string_view what;
  double value = 0;
  std::string_view unit;  // "%", or "MB" of 10^6 bytes
  std::string_view source;
};

struct ComparedFigure {
  PublishedFigure published;
  std::optional<double> here;  // in the same unit; empty: not measured
};

std::vector<ComparedFigure> compare_with_published(const Characterization& found);

// A table.
std::string describe_published(std::span<const ComparedFigure> figures);

// [{"what", "published", "here" (null: not measured), "unit", "source"}]
nlohmann::json published_json(std::span<const ComparedFigure> figures);

// What differs between the paper's step and this one, with this one's numbers; a sentence or a few each.
std::vector<std::string> explain_differences(const Graph& graph, const Liveness& liveness,
                                             const Characterization& found, std::int64_t batch);

}  // namespace sluice

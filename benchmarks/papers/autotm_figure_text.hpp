// The experiment's tables for people, and its result as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "benchmarks/papers/autotm_claims.hpp"

namespace sluice::autotm {

// How much of the step's times was published, by kind of op.
std::string describe_coverage(const FiguredModel& model);

// Slowdown over only DRAM by ratio and planner (figures 7 and 10a), and why points are missing.
std::string describe_slowdowns(const FiguredModel& model);

// Of every planner: operands in DRAM (figure 10b) and bytes moved (10c) by ratio.
std::string describe_operands(const FiguredModel& model);

std::string describe_figure_claims(std::span<const FiguredModel> models);

// {"models": [{as sweep_json(), "only_pmm_slowdown", "largest_convolution_share", "ratios", "unmatched": {"ops", "of_ops", "share_of_ops",
// "share_of_time", "scaled_seconds", "guessed_seconds", "published_placements"}, "kinds": {...}}],
//  "claims": [{"published", "source", "here", "agrees" (where it can be said)}]}
nlohmann::json figures_json(std::span<const FiguredModel> models);

}  // namespace sluice::autotm

// The part of `sluice profile` that counts main-memory accesses: its options, and how counts look on the terminal and
// in JSON results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sluice/experiment/access_profiling.hpp"
#include "sluice/graph/graph.hpp"

namespace CLI {
class App;  // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

struct AccessArguments {
  bool wanted = false;
  bool hardware_sampling = false;
  std::string tlb_reach;
  std::string largest_chunk;

  void add_to(CLI::App& command);
  Result<experiment::AccessOptions> options() const;  // kBadInput for a size that is none
};

// How it was counted, and the `count` tensors with the most accesses.
std::string describe_accesses(const graph::Graph& graph, const profile::AccessProfile& profile, std::size_t count);

// The profile, and every tensor's sums by name.
nlohmann::json accesses_json(const graph::Graph& graph, const profile::AccessProfile& profile);

}  // namespace sluice::cli

#include "tools/access_output.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/profile/access_profile_file.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::cli {
namespace {

std::int64_t total(const profile::TensorAccesses& accesses) { return accesses.reads + accesses.writes; }

std::string describe_counting(const profile::AccessProfile& profile) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"counted by", fmt::format("{}, TLB reach {}, chunks of at most {}", profile.method,
                                 format_bytes(profile.tlb_reach), format_bytes(profile.largest_chunk))},
      {"normal step", format_seconds(profile.normal_step)},
      {"counted step", fmt::format("{} ({:.1f} times)", format_seconds(profile.profiled_step),
                                   profile.profiled_step / profile.normal_step)}};
  for (const std::string& note : profile.notes) fields.emplace_back("note", note);
  return report::format_fields(fields);
}

std::vector<graph::TensorId> by_accesses(const std::vector<profile::TensorAccesses>& accesses) {
  std::vector<graph::TensorId> order(accesses.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](graph::TensorId id) { return total(accesses[as_index(id)]); });
  return order;
}

}  // namespace

void AccessArguments::add_to(CLI::App& command) {
  CLI::Option* accesses =
      command.add_flag("--accesses", wanted, "Also count how often each tensor is accessed in main memory");
  command
      .add_option("--tlb-reach", tlb_reach,
                  "With --accesses: bytes that the TLB covers (default: this processor's, for each thread)")
      ->type_name("SIZE")
      ->needs(accesses);
  command
      .add_option("--largest-chunk", largest_chunk,
                  "With --accesses: track large tensors in chunks of this size, 4KiB the most exact (default: the "
                  "smallest for which the counted step takes at most about five normal ones)")
      ->type_name("SIZE")
      ->needs(accesses);
  command
      .add_flag("--hardware-sampling", hardware_sampling,
                "With --accesses: sample accesses in the processor instead, where it can")
      ->needs(accesses);
}

Result<experiment::AccessOptions> AccessArguments::options() const {
  experiment::AccessOptions options{.hardware_sampling = hardware_sampling};
  if (!tlb_reach.empty()) {
    SLUICE_ASSIGN(options.tlb_reach, parse_bytes(tlb_reach));
  }
  if (!largest_chunk.empty()) {
    SLUICE_ASSIGN(options.largest_chunk, parse_bytes(largest_chunk));
  }
  return options;
}

std::string describe_accesses(const graph::Graph& graph, const profile::AccessProfile& profile, std::size_t count) {
  const std::vector<profile::TensorAccesses> accesses = profile::accesses_by_tensor(graph, profile);
  report::TextTable table({{"tensor", report::Align::kLeft, 0},
                           {"role", report::Align::kLeft, 0},
                           {"size", report::Align::kRight, 0},
                           {"pages read", report::Align::kRight, 0},
                           {"pages written", report::Align::kRight, 0},
                           {"accesses a page", report::Align::kRight, 0}});
  std::vector<graph::TensorId> order = by_accesses(accesses);
  order.resize(std::min(order.size(), count));
  for (const graph::TensorId id : order) {
    const profile::TensorAccesses& sum = accesses[as_index(id)];
    const graph::Tensor& tensor = graph.tensor(id);
    table.add_row({tensor.name, std::string(to_string(tensor.role)), format_bytes(tensor.bytes),
                   std::to_string(sum.reads), std::to_string(sum.writes), fmt::format("{:.1f}", sum.per_page)});
  }
  return fmt::format("main-memory accesses of one step\n{}\n{}", describe_counting(profile), table.text());
}

nlohmann::json accesses_json(const graph::Graph& graph, const profile::AccessProfile& profile) {
  nlohmann::json tensors = nlohmann::json::array();
  const std::vector<profile::TensorAccesses> accesses = profile::accesses_by_tensor(graph, profile);
  for (const graph::TensorId id : by_accesses(accesses)) {
    const profile::TensorAccesses& sum = accesses[as_index(id)];
    tensors.push_back({{"tensor", graph.tensor(id).name},
                       {"role", to_string(graph.tensor(id).role)},
                       {"bytes", graph.tensor(id).bytes},
                       {"reads", sum.reads},
                       {"writes", sum.writes},
                       {"per_page", sum.per_page}});
  }
  return {{"profile", profile::access_profile_to_json(profile)}, {"tensors", tensors}};
}

}  // namespace sluice::cli

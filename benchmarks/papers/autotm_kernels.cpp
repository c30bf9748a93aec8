// Emulated Optane against real Optane: what the emulation's rule says of 2,068 kernels that AutoTM's authors timed with
// their tensors in DRAM and in persistent memory, beside what they measured.
//
//   autotm_kernels FOLDER [RESULT.json]
//
// FOLDER holds fuzz_kernels.csv and fuzz_times.csv (autotm_data.hpp). Two global figures are fitted on the kernels with
// even numbers; the table is of the others. Ends with 1 when a kind in the bar is not met within 1.5 times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "benchmarks/papers/autotm_model.hpp"

namespace sluice::autotm {
namespace {

constexpr double kBar = 1.5;
constexpr Bytes kLarge = 8 * kMiB;  // written: what outputs cost by number is then a small part

struct Spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

nlohmann::json to_json(const Spread& spread) {
  return {{"median", spread.median}, {"p10", spread.p10}, {"p90", spread.p90}};
}

struct Row {
  std::string name;
  bool in_bar = false;
  std::size_t kernels = 0;
  Spread measured;    // most in Optane / all in DRAM
  Spread predicted;   // the same
  Spread per_kernel;  // predicted / measured, of each kernel
  double off() const { return predicted.median / measured.median; }
  bool met() const { return std::max(off(), 1 / off()) <= kBar; }
};

bool is_large(const Kernel& kernel) {
  return !kernel.outputs.empty() && *std::ranges::max_element(kernel.outputs) >= kLarge;
}

Row compare(const Machine& machine, const Fit& fit, const KernelKind& kind) {
  std::vector<double> measured, predicted, quotients;
  for (const Kernel& kernel : kind.kernels) {
    const Seconds in_dram = kernel.placements.front().seconds;
    measured.push_back(kernel.placements.back().seconds / in_dram);
    predicted.push_back(predict(machine, fit, kernel, kernel.placements.back()) / in_dram);
    quotients.push_back(predicted.back() / measured.back());
  }
  return {kind.name, kind.in_bar, measured.size(), spread_of(measured), spread_of(predicted), spread_of(quotients)};
}

std::vector<Row> compare(const Machine& machine, const Fit& fit, const std::vector<Kernel>& kernels) {
  std::vector<Row> rows;
  for (const KernelKind& kind : by_kind(kernels)) rows.push_back(compare(machine, fit, kind));
  return rows;
}

std::vector<Kernel> large_among(const std::vector<Kernel>& kernels) {
  std::vector<Kernel> large;
  std::ranges::copy_if(kernels, std::back_inserter(large), is_large);
  return large;
}

void print(const std::vector<Row>& rows) {
  fmt::print("{:28} {:>7}  {:>20}  {:>20}  {:>9}  {:>20}  {}\n", "kind", "kernels", "measured [p10 p90]",
             "predicted [p10 p90]", "predicted", "of each [p10 p90]", "");
  fmt::print("{:28} {:>7}  {:>20}  {:>20}  {:>9}  {:>20}  {}\n", "", "", "slow / fast", "slow / fast", "/measured",
             "predicted/measured", "within 1.5x");
  const auto text = [](const Spread& s) { return fmt::format("{:.2f} [{:.2f} {:.2f}]", s.median, s.p10, s.p90); };
  for (const Row& row : rows) {
    fmt::print("{:28} {:>7}  {:>20}  {:>20}  {:>9.2f}  {:>20}  {}{}\n", row.name, row.kernels, text(row.measured),
               text(row.predicted), row.off(), text(row.per_kernel), row.met() ? "yes" : "no",
               row.in_bar ? "" : " (not in the bar)");
  }
}

nlohmann::json to_json(const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows) {
    list.push_back({{"kind", row.name},
                    {"in_bar", row.in_bar},
                    {"kernels", row.kernels},
                    {"measured_ratio", to_json(row.measured)},
                    {"predicted_ratio", to_json(row.predicted)},
                    {"predicted_by_measured", to_json(row.per_kernel)},
                    {"met", row.met()}});
  }
  return list;
}

// Of every placement of every kernel, not only those with the most in Optane.
Spread all_placements(const Machine& machine, const Fit& fit, const std::vector<Kernel>& kernels) {
  std::vector<double> quotients;
  for (const Kernel& kernel : kernels) {
    for (std::size_t i = 1; i < kernel.placements.size(); ++i) {
      const Placement& each = kernel.placements[i];
      if (each.seconds > 0) quotients.push_back(predict(machine, fit, kernel, each) / each.seconds);
    }
  }
  return spread_of(quotients);
}

int run(const std::string& folder, const std::string& json_path) {
  const auto kernels = read_kernels(folder);
  if (!kernels.ok()) {
    fmt::print(stderr, "autotm_kernels: {}\n", kernels.error().message);
    return 2;
  }
  const Machine machine = autotm_machine();
  const Fit fit = fit_to(machine, half_of(*kernels, true));
  const std::vector<Kernel> rest = half_of(*kernels, false);
  const std::vector<Row> rows = compare(machine, fit, rest);
  const std::vector<Row> large = compare(machine, fit, large_among(rest));
  const Spread placements = all_placements(machine, fit, rest);
  const Tier& optane = machine.tier(1);
  fmt::print(
      "emulated Optane against AutoTM's kernels on real Optane\n{}; {} of caches; DRAM {}; Optane {} read, {} "
      "written in granules of {} bytes, {:.0f} ns\n",
      machine.cpu, format_bytes(machine.cache_bytes), format_bandwidth(machine.tier(kFastTier).read_bandwidth),
      format_bandwidth(optane.read_bandwidth), format_bandwidth(optane.write_bandwidth), optane.granule,
      optane.latency * 1e9);
  fmt::print("fitted on the {} kernels of even number: {:.2f} of the caches usable, {:.0f} us per output in Optane\n",
             half_of(*kernels, true).size(), fit.usable_caches, fit.per_output * 1e6);
  fmt::print("\nthe {} kernels of odd number, most in Optane against all in DRAM:\n", rest.size());
  print(rows);
  fmt::print("\nof these, the ones with an output of {} and more:\n", format_bytes(kLarge));
  print(large);
  fmt::print("\nall placements of all kernels of odd number: predicted / measured {:.2f} [{:.2f} {:.2f}]\n",
             placements.median, placements.p10, placements.p90);
  if (!json_path.empty()) {
    const nlohmann::json document{
        {"fit", {{"usable_caches", fit.usable_caches}, {"seconds_per_output", fit.per_output}}},
        {"kernels_fitted", half_of(*kernels, true).size()},
        {"kernels_held_out", rest.size()},
        {"kinds", to_json(rows)},
        {"kinds_of_large_outputs", to_json(large)},
        {"all_placements_predicted_by_measured", to_json(placements)}};
    std::ofstream(json_path) << document.dump(2) << '\n';
  }
  return std::ranges::all_of(rows, [](const Row& row) { return !row.in_bar || row.met(); }) ? 0 : 1;
}

}  // namespace
}  // namespace sluice::autotm

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: autotm_kernels FOLDER [RESULT.json]\n");
    return 2;
  }
  return sluice::autotm::run(argv[1], argc > 2 ? argv[2] : "");
}

// What the fused host step is worth: one Adam pass of mixed precision (kernels/onednn/updates/optimizer_step.hpp)
// beside the same arithmetic in three passes, and beside a loop that only reads and writes what Adam does.
//
//   host_step [--elements 10000000,100000000,400000000] [--rounds 9] [--threads N] [--json FILE]
//   host_step --serve ELEMENTS       a step whenever a line comes in: for rivals in turn (benchmarks/rivals/compare_adam.py)
//
// Every round times all three in an order that rotates, over the same buffers; ratios are taken within a round. Shown
// are medians, with the least and the most. Status 1 where fused and three passes make other bits.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>

#include "benchmarks/host_step/three_passes.hpp"
#include "sluice/base/as_index.hpp"
#include "sluice/base/time_of.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::benchmarks {
namespace {

struct HostStepArguments {
  std::vector<std::int64_t> elements{10'000'000, 100'000'000, 400'000'000};
  std::int64_t serve = 0;
  int rounds = 9;
  int threads = omp_get_max_threads();
  std::string json;
};

constexpr int kFusedBytes = 28, kThreePassBytes = 40, kRoofBytes = 26;  // an element, read and written

kernels::AdamStep usual_step() {
  graph::UpdateAttributes attributes;
  attributes.momentum = 0.9F;
  attributes.beta2 = 0.999F;
  attributes.epsilon = 1e-8F;
  kernels::StepContext context;
  context.step = 9;
  context.learning_rate = 1e-3F;
  kernels::AdamStep step = kernels::adam_step(attributes, context);
  step.scale = 1.0F / 1024;
  return step;
}

void step_at_once(const kernels::AdamStep& step, const StepBuffers& b) {
  const kernels::UpdateOperands<kernels::BFloat16> operands{b.w, b.gradient, b.moment1, b.moment2,
                                                            b.w, b.moment1,  b.moment2, b.half};
  kernels::for_blocks(
      b.elements, [&](std::int64_t begin, std::int64_t end) { kernels::update_elements(step, operands, begin, end); });
}

struct Spread {
  double least = 0, median = 0, most = 0;
  explicit Spread(std::vector<double> values) {
    std::ranges::sort(values);
    least = values.front();
    median = values[values.size() / 2];
    most = values.back();
  }
  std::string text() const { return fmt::format("{:.3f} ({:.3f}-{:.3f})", median, least, most); }
  nlohmann::json json() const { return {{"least", least}, {"median", median}, {"most", most}}; }
};

struct Row {
  std::int64_t elements = 0;
  std::array<std::vector<double>, 3> seconds;  // fused, three passes, roof: by round
  bool same_bits = false;

  Spread ratio(std::size_t of, std::size_t over) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < seconds[of].size(); ++i) ratios.push_back(seconds[of][i] / seconds[over][i]);
    return Spread(ratios);
  }
  double gigabytes_per_second(std::size_t of, int bytes) const {
    return static_cast<double>(elements) * bytes / Spread(seconds[of]).median * 1e-9;
  }
};

// From the same contents, both ways.
Result<bool> makes_same_bits(std::int64_t elements, int threads) {
  SLUICE_ASSIGN(const StepBuffers one, StepBuffers::make(elements, false, threads));
  SLUICE_ASSIGN(const StepBuffers three, StepBuffers::make(elements, true, threads));
  step_at_once(usual_step(), one);
  step_in_three_passes(usual_step(), three);
  const auto same = [&](const auto* a, const auto* b) {
    return std::memcmp(a, b, as_index(elements) * sizeof(*a)) == 0;
  };
  return same(one.w, three.w) && same(one.moment1, three.moment1) && same(one.moment2, three.moment2) &&
         same(one.half, three.half);
}

Result<Row> measure(std::int64_t elements, const HostStepArguments& arguments) {
  Row row{.elements = elements, .seconds = {}};
  SLUICE_ASSIGN(row.same_bits, makes_same_bits(std::min<std::int64_t>(elements, 1'000'003), arguments.threads));
  SLUICE_ASSIGN(const StepBuffers buffers, StepBuffers::make(elements, true, arguments.threads));
  const kernels::AdamStep step = usual_step();
  const auto run = [&](std::size_t contestant) {
    if (contestant == 0) step_at_once(step, buffers);
    if (contestant == 1) step_in_three_passes(step, buffers);
    if (contestant == 2) read_four_write_three(buffers);
  };
  for (int round = -1; round < arguments.rounds; ++round) {
    for (std::size_t turn = 0; turn < 3; ++turn) {
      const std::size_t contestant = (turn + static_cast<std::size_t>(round + 1)) % 3;
      const Seconds seconds = time_of([&] { run(contestant); });
      if (round >= 0) row.seconds[contestant].push_back(seconds);  // the first round warms up
    }
  }
  return row;
}

nlohmann::json json_of(const Row& row) {
  return {{"elements", row.elements},
          {"fused_seconds", row.seconds[0]},
          {"three_passes_seconds", row.seconds[1]},
          {"roof_seconds", row.seconds[2]},
          {"three_passes_over_fused", row.ratio(1, 0).json()},
          {"fused_over_roof", row.ratio(0, 2).json()},
          {"same_bits", row.same_bits}};
}

Result<int> run(const HostStepArguments& arguments) {
  report::TextTable table({{"elements", report::Align::kRight},
                           {"fused ms", report::Align::kRight},
                           {"GB/s", report::Align::kRight},
                           {"three passes ms", report::Align::kRight},
                           {"GB/s", report::Align::kRight},
                           {"roof ms", report::Align::kRight},
                           {"GB/s", report::Align::kRight},
                           {"three passes / fused", report::Align::kRight},
                           {"fused / roof", report::Align::kRight},
                           {"bits", report::Align::kRight}});
  nlohmann::json rows = nlohmann::json::array();
  bool same = true;
  for (const std::int64_t elements : arguments.elements) {
    SLUICE_ASSIGN(const Row row, measure(elements, arguments));
    const auto ms = [&](std::size_t of) { return fmt::format("{:.1f}", 1e3 * Spread(row.seconds[of]).median); };
    const auto rate = [&](std::size_t of, int bytes) {
      return fmt::format("{:.1f}", row.gigabytes_per_second(of, bytes));
    };
    table.add_row({std::to_string(elements), ms(0), rate(0, kFusedBytes), ms(1), rate(1, kThreePassBytes), ms(2),
                   rate(2, kRoofBytes), row.ratio(1, 0).text(), row.ratio(0, 2).text(),
                   row.same_bits ? "same" : "DIFFER"});
    rows.push_back(json_of(row));
    same = same && row.same_bits;
  }
  fmt::print("{} threads, {} rounds\n{}", arguments.threads, arguments.rounds, table.text());
  if (!arguments.json.empty()) {
    SLUICE_RETURN_IF_ERROR(report::write_json_file(
        arguments.json, {{"run", report::run_record(memory::host_machine(arguments.threads))}, {"rows", rows}}));
  }
  return same ? 0 : 1;
}

Result<int> serve(const HostStepArguments& arguments) {
  SLUICE_ASSIGN(const StepBuffers buffers, StepBuffers::make(arguments.serve, false, arguments.threads));
  for (std::string line; std::getline(std::cin, line);) {
    const Seconds seconds = time_of([&] { step_at_once(usual_step(), buffers); });
    fmt::print("{}\n", nlohmann::json{{"ok", true}, {"step_seconds", seconds}}.dump());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::benchmarks

int main(int argc, char** argv) {
  sluice::benchmarks::HostStepArguments arguments;
  CLI::App app("Times one pass of Adam over host memory, beside three passes and what memory allows");
  app.add_option("--elements", arguments.elements, "Parameters; several sizes")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", arguments.rounds, "Of each, in turn")->check(CLI::PositiveNumber);
  app.add_option("--threads", arguments.threads, "That share the work")->check(CLI::PositiveNumber);
  app.add_option("--json", arguments.json, "Also write the rows to this file");
  app.add_option("--serve", arguments.serve, "Step so many parameters whenever a line comes in");
  CLI11_PARSE(app, argc, argv);
  omp_set_num_threads(arguments.threads);
  const auto result = arguments.serve > 0 ? sluice::benchmarks::serve(arguments) : sluice::benchmarks::run(arguments);
  if (result.ok()) return *result;
  fmt::print(stderr, "host_step: {}\n", result.error().message);
  return 2;
}

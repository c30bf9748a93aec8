#include "benchmarks/papers/autotm_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace sluice::benchmarks::autotm {
namespace {

using Row = std::map<std::string, std::string>;  // by column

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Result<std::vector<Row>> read_table(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    return Error{ErrorCode::kBadInput, fmt::format("no table in '{}' (gunzip the .csv.gz first)", path)};
  }
  const std::vector<std::string> columns = split(line, ',');
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> values = split(line, ',');
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(columns.size(), values.size()); ++i) row[columns[i]] = values[i];
  }
  return rows;
}

std::vector<Bytes> bytes_of(const std::string& text) {
  std::vector<Bytes> bytes;
  for (const std::string& part : split(text, ';')) bytes.push_back(std::stoll(part));
  return bytes;
}

// Of `count` tensors: a list that ends with a scalar's empty shape ends with its separator.
std::vector<graph::Shape> shapes_of(const std::string& text, std::size_t count) {
  std::vector<graph::Shape> shapes;
  for (const std::string& part : split(text, ';')) {
    graph::Shape& shape = shapes.emplace_back();
    for (const std::string& extent : split(part, 'x')) shape.push_back(std::stoll(extent));
    std::ranges::reverse(shape);
  }
  shapes.resize(count);
  return shapes;
}

Kernel described(const Row& row) {
  Kernel kernel{std::stoi(row.at("kernel_id")),   row.at("op"), bytes_of(row.at("input_bytes")),
                bytes_of(row.at("output_bytes")), {},           {}};
  kernel.shapes = shapes_of(row.at("input_shapes"), kernel.inputs.size());
  for (graph::Shape& shape : shapes_of(row.at("output_shapes"), kernel.outputs.size())) {
    kernel.shapes.push_back(std::move(shape));
  }
  return kernel;
}

std::int64_t in_optane(const Placement& placement) { return std::ranges::count(placement.locations, 'P'); }

bool has_ratio(const Kernel& kernel) {
  return !kernel.placements.empty() && in_optane(kernel.placements.front()) == 0 &&
         kernel.placements.front().seconds > 0;
}

std::vector<Kernel> join(const std::vector<Row>& descriptions, const std::vector<Row>& times) {
  std::map<int, Kernel> kernels;
  for (const Row& row : descriptions) {
    Kernel kernel = described(row);
    kernels[kernel.id] = std::move(kernel);
  }
  for (const Row& row : times) {
    kernels.at(std::stoi(row.at("kernel_id")))
        .placements.push_back({row.at("input_locs") + row.at("output_locs"), std::stod(row.at("time_us")) * 1e-6});
  }
  std::vector<Kernel> complete;
  for (auto& [id, kernel] : kernels) {
    std::ranges::stable_sort(kernel.placements, {}, in_optane);
    if (has_ratio(kernel)) complete.push_back(std::move(kernel));
  }
  return complete;
}

}  // namespace

Result<std::vector<Kernel>> read_kernels(const std::string& folder) {
  SLUICE_ASSIGN(const std::vector<Row> descriptions, read_table(folder + "/fuzz_kernels.csv"));
  SLUICE_ASSIGN(const std::vector<Row> times, read_table(folder + "/fuzz_times.csv"));
  try {
    return join(descriptions, times);
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kBadInput, fmt::format("not AutoTM's tables in '{}': {}", folder, failure.what())};
  }
}

}  // namespace sluice::benchmarks::autotm

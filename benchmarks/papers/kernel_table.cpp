#include "benchmarks/papers/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sluice/base/as_index.hpp"
namespace sluice::benchmarks::autotm {
namespace {

constexpr Bytes kElementBytes = 4;

std::vector<graph::Shape> shapes_of(const KernelPart& part) {
  std::vector<graph::Shape> shapes;
  for (const auto* operands : {&part.inputs, &part.outputs}) {
    for (const PartOperand& each : *operands) shapes.push_back(each.shape);
  }
  return shapes;
}

Bytes bytes_of(const graph::Shape& shape) { return kElementBytes * graph::element_count(shape); }

std::vector<Bytes> bytes_of(const std::vector<PartOperand>& operands) {
  std::vector<Bytes> bytes;
  for (const PartOperand& each : operands) bytes.push_back(bytes_of(each.shape));
  return bytes;
}

Bytes sum(const std::vector<Bytes>& bytes) { return std::accumulate(bytes.begin(), bytes.end(), Bytes{0}); }

// Where a convolution has its weights [O, I, KH, KW] and its result (or that one's gradient), among inputs and outputs.
struct Convolution {
  std::string_view op;
  std::size_t weights = 0;
  std::size_t result = 0;
};
constexpr std::array kConvolutions{Convolution{"ConvolutionBias", 1, 3}, Convolution{"ConvolutionBackpropData", 0, 1},
                                   Convolution{"ConvolutionBiasBackpropFiltersBias", 2, 1}};

// FLOPs of a convolution, else bytes.
double work_of(std::string_view op, const std::vector<graph::Shape>& shapes) {
  const auto* const found = std::ranges::find(kConvolutions, op, &Convolution::op);
  if (found != kConvolutions.end()) {
    const graph::Shape& weights = shapes.at(found->weights);
    const auto products = static_cast<double>(graph::element_count(weights) / weights.at(0));
    return 2 * products * static_cast<double>(graph::element_count(shapes.at(found->result)));
  }
  Bytes bytes = 0;
  for (const graph::Shape& shape : shapes) bytes += bytes_of(shape);
  return static_cast<double>(bytes);
}

double median(std::vector<double> values) {
  const auto middle = iterator_at(values, values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// A kernel of which only its time in DRAM is known.
Kernel of_part(const KernelPart& part, std::string op, Seconds seconds) {
  Kernel kernel{.op = std::move(op), .inputs = bytes_of(part.inputs), .outputs = bytes_of(part.outputs)};
  kernel.shapes = shapes_of(part);
  kernel.placements.push_back({std::string(kernel.shapes.size(), 'D'), seconds});
  return kernel;
}

// Whether everything in Optane in `part` is so in `whole`, too.
bool is_part_of(const std::string& part, const std::string& whole) {
  return std::ranges::equal(part, whole, [](char one, char other) { return one != 'P' || other == 'P'; });
}

Bytes bytes_in_optane(const Kernel& kernel, const std::string& locations) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    if (locations[i] != 'P') continue;
    bytes += i < kernel.inputs.size() ? kernel.inputs[i] : kernel.outputs.at(i - kernel.inputs.size());
  }
  return bytes;
}

}  // namespace

bool is_published(const Kernel& kernel, const std::string& locations) {
  return std::ranges::find(kernel.placements, locations, &Placement::locations) != kernel.placements.end();
}

KernelTable::KernelTable(std::vector<Kernel> kernels, memory::Machine machine, Fit fit)
    : kernels_(std::move(kernels)), machine_(std::move(machine)), fit_(fit) {
  SLUICE_CHECK(!kernels_.empty(), "a table of kernels has at least one");
  std::vector<double> by_byte;
  for (const Kernel& kernel : kernels_) {
    by_byte.push_back(kernel.placements.front().seconds /
                      static_cast<double>(sum(kernel.inputs) + sum(kernel.outputs)));
  }
  median_seconds_per_byte_ = median(by_byte);
}

const Kernel* KernelTable::published(const KernelPart& part) const {
  const std::vector<Bytes> inputs = bytes_of(part.inputs), outputs = bytes_of(part.outputs);
  const std::vector<graph::Shape> shapes = shapes_of(part);
  const Kernel* of_equal_bytes = nullptr;
  for (const std::string_view op : part.ops) {
    for (const Kernel& kernel : kernels_) {
      if (kernel.op != op || kernel.inputs != inputs || kernel.outputs != outputs) continue;
      if (kernel.shapes == shapes) return &kernel;
      if (of_equal_bytes == nullptr) of_equal_bytes = &kernel;
    }
  }
  return of_equal_bytes;
}

const Kernel* KernelTable::nearest(const KernelPart& part) const {
  const Kernel* found = nullptr;
  double least = 0;
  for (const Kernel& kernel : kernels_) {
    if (std::ranges::find(part.ops, kernel.op) == part.ops.end()) continue;
    const double away = std::abs(std::log(work_of(kernel.op, shapes_of(part)) / work_of(kernel.op, kernel.shapes)));
    if (found != nullptr && away >= least) continue;
    found = &kernel;
    least = away;
  }
  return found;
}

TimedKernel KernelTable::find(const KernelPart& part) const {
  if (const Kernel* same = published(part)) return {*same, Origin::kPublished};
  if (const Kernel* kin = nearest(part)) {
    const double times = work_of(kin->op, shapes_of(part)) / work_of(kin->op, kin->shapes);
    return {of_part(part, kin->op, times * kin->placements.front().seconds), Origin::kScaled};
  }
  const Bytes bytes = sum(bytes_of(part.inputs)) + sum(bytes_of(part.outputs));
  return {of_part(part, "", median_seconds_per_byte_ * static_cast<double>(bytes)), Origin::kGuessed};
}

Seconds KernelTable::seconds(const Kernel& kernel, const std::string& locations) const {
  const Placement* nearest = &kernel.placements.front();
  for (const Placement& each : kernel.placements) {
    if (!is_part_of(each.locations, locations)) continue;
    if (bytes_in_optane(kernel, each.locations) >= bytes_in_optane(kernel, nearest->locations)) nearest = &each;
  }
  if (nearest->locations == locations) return nearest->seconds;
  const Seconds more =
      predict(machine_, fit_, kernel, {locations, 0}) - predict(machine_, fit_, kernel, {nearest->locations, 0});
  return nearest->seconds + std::max(0.0, more);
}

}  // namespace sluice::benchmarks::autotm

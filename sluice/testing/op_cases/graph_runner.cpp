#include "sluice/testing/op_cases/graph_runner.hpp"

#include <sys/mman.h>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"

namespace sluice::testing {
namespace {

constexpr Bytes kAlignment = 4 * kKiB;

float initial_value(const graph::Init& init, std::int64_t element, std::int64_t elements, std::uint64_t seed) {
  const bool first_row = element < elements / 2;
  switch (init.kind) {
    case graph::Init::Kind::kZero:
      return 0;
    case graph::Init::Kind::kNormal:
      return init.stddev * random_normal(seed, init.stream, static_cast<std::uint64_t>(init.first_element + element));
    case graph::Init::Kind::kUniform:
      return init.stddev *
             (2 * random_uniform(seed, init.stream, static_cast<std::uint64_t>(init.first_element + element)) - 1);
    case graph::Init::Kind::kScaleShift:
      return first_row ? 1.0F : 0.0F;
    case graph::Init::Kind::kRunningStats:
      return first_row ? 0.0F : 1.0F;
    case graph::Init::Kind::kConstant:
      return init.stddev;
    case graph::Init::Kind::kGiven:
      SLUICE_CHECK(false, "values that came with a model are set by the caller");
  }
  SLUICE_CHECK(false, "unknown init");
}

std::shared_ptr<std::byte> map_zeroed(std::size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SLUICE_CHECK(memory != MAP_FAILED, "cannot map " + format_bytes(static_cast<Bytes>(size)) + " for a test graph");
  madvise(memory, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(memory), [size](std::byte* mapped) { munmap(mapped, size); }};
}

}  // namespace

GraphRunner::GraphRunner(kernels::CompiledGraph& compiled, Bytes shift) : compiled_(compiled) {
  Bytes end = shift;
  for (const graph::Tensor& tensor : graph().tensors()) {
    offsets_.push_back(end);
    end += align_up(tensor.bytes, kAlignment);
  }
  const auto size = as_index(end + kAlignment);
  memory_ = map_zeroed(size);
  Result<std::shared_ptr<void>> shared = compiled.share({memory_.get(), size});
  SLUICE_CHECK(shared.ok(), shared.error().message);
  shared_ = std::move(shared).value();
}

void GraphRunner::initialise(std::uint64_t seed) {
  for (graph::TensorId id = 0; id < graph().tensor_count(); ++id) {
    const graph::Tensor& tensor = graph().tensor(id);
    if (!graph::is_persistent(tensor.role)) continue;
    const std::int64_t elements = graph::element_count(tensor.shape);
    std::vector<float> values(as_index(elements));
    for (std::int64_t i = 0; i < elements; ++i) values[as_index(i)] = initial_value(tensor.init, i, elements, seed);
    set_plain(id, values);
  }
}

std::vector<void*> GraphRunner::operands(graph::OpIndex op) const {
  std::vector<void*> pointers;
  for (const graph::TensorId id : graph().op(op).inputs) pointers.push_back(data(id));
  for (const graph::TensorId id : graph().op(op).outputs) pointers.push_back(data(id));
  return pointers;
}

void GraphRunner::run_op(graph::OpIndex op, const kernels::StepContext& context) {
  const Status status = compiled_.run(op, operands(op), context);
  SLUICE_CHECK(status.ok(), status.error().message);
}

void GraphRunner::run_step(const kernels::StepContext& context) {
  for (graph::OpIndex op = 0; op < graph().op_count(); ++op) run_op(op, context);
}

std::span<const std::byte> GraphRunner::bytes(graph::TensorId tensor) const {
  return {data(tensor), as_index(graph().tensor(tensor).bytes)};
}

graph::TensorId GraphRunner::find(std::string_view name) const {
  for (graph::TensorId id = 0; id < graph().tensor_count(); ++id)
    if (graph().tensor(id).name == name) return id;
  SLUICE_CHECK(false, "no tensor is called " + std::string(name));
}

std::vector<float> GraphRunner::plain(graph::TensorId tensor) const {
  std::vector<float> values(as_index(graph::element_count(graph().tensor(tensor).shape)));
  compiled_.to_plain(tensor, data(tensor), values);
  return values;
}

void GraphRunner::set_plain(graph::TensorId tensor, std::span<const float> values) {
  compiled_.from_plain(tensor, values, data(tensor));
}

}  // namespace sluice::testing

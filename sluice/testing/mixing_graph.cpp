#include "sluice/testing/mixing_graph.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::testing {
namespace {

std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> bytes) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  for (; at < bytes.size(); ++at) hash = mix64(hash ^ static_cast<std::uint64_t>(bytes[at]));
  return mix64(hash ^ bytes.size());
}

// Half of the words of four bytes are zero and most integers are small, so that there is something to encode.
void fill_bytes(std::uint64_t seed, graph::DType dtype, std::span<std::byte> bytes) {
  static constexpr std::array<std::uint64_t, 4> kWidths = {0x0101010101010101, 0x0303030303030303, 0x0f0f0f0f0f0f0f0f,
                                                           ~std::uint64_t{0}};
  static constexpr std::array<std::uint64_t, 4> kWideWidths = {0x0000000300000003, 0x000000ff000000ff,
                                                               0x0000ffff0000ffff, ~std::uint64_t{0}};
  const std::uint64_t kept = dtype == graph::DType::kU8    ? kWidths[seed % 4]
                             : dtype == graph::DType::kI32 ? kWideWidths[seed % 4]
                                                           : ~std::uint64_t{0};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word =
        mix64(seed + 0x9e3779b97f4a7c15ULL * at) & ((seed + at / 8) % 2 == 0 ? 0xffffffffULL : ~0xffffffffULL) & kept;
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
  }
}

std::uint64_t hash_of_choice(const graph::Op& op) {
  const std::string name = op.implementations.empty() ? std::string() : op.implementations.front().name;
  return hash_bytes(static_cast<std::uint64_t>(op.processor), std::as_bytes(std::span(name)));
}

void spin(Seconds seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start).count() < seconds) {
  }
}

}  // namespace

std::span<std::byte> MixingGraph::bytes_of(graph::TensorId tensor, void* stored) const {
  return {static_cast<std::byte*>(stored), as_index(graph_.tensor(tensor).bytes)};
}

void MixingGraph::fill(std::uint64_t seed, graph::TensorId tensor, void* stored) const {
  fill_bytes(seed, graph_.tensor(tensor).dtype, bytes_of(tensor, stored));
}

std::unique_ptr<kernels::CompiledGraph> MixingGraph::rescheduled(const graph::Rescheduled& step) const {
  return std::make_unique<MixingGraph>(step.graph, options_);
}

void MixingGraph::mix_all(const graph::Op& op, std::span<void* const> operands, std::uint64_t hash) const {
  std::size_t operand = 0;
  for (const graph::TensorId input : op.inputs) hash = hash_bytes(hash, bytes_of(input, operands[operand++]));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    fill(mix64(hash + i), op.outputs[i], operands[operand++]);
  }
}

// A whole batch norm first makes the statistics from x, and the running ones from those before. Then it does what its
// apply part alone does: that is mix_all() over x, scale and shift, the statistics and what is added.
void MixingGraph::run_norm(const graph::Op& op, std::span<void* const> operands, std::uint64_t hash) const {
  const std::size_t inputs = op.inputs.size();
  const std::uint64_t of_x = hash_bytes(hash, bytes_of(op.inputs[0], operands[0]));
  const std::uint64_t running = hash_bytes(of_x, bytes_of(op.inputs[2], operands[2]));
  fill(mix64(of_x + 1), op.outputs[1], operands[inputs + 1]);
  if (op.outputs.size() > 2) fill(mix64(running + 2), op.outputs[2], operands[inputs + 2]);
  const graph::Op apply = graph::repeated_form(op);
  std::vector<void*> its_operands{operands[0], operands[1], operands[inputs + 1]};
  if (inputs > 3) its_operands.push_back(operands[3]);
  its_operands.push_back(operands[inputs]);
  mix_all(apply, its_operands, hash);
}

Status MixingGraph::run(graph::OpIndex op, std::span<void* const> operands, const kernels::StepContext& context) {
  const int earlier = ops_run_++;
  if (options_.failing_op == op) return Error{ErrorCode::kIo, fmt::format("op {} was told to fail", op)};
  const graph::Op& instruction = graph_.op(op);
  // Equal ops mix equally, as kernels do: one that makes again what another has made may be left out.
  const auto kind = static_cast<std::uint64_t>(graph::repeated_form(instruction).kind);
  const auto* const dropout = std::get_if<graph::DropoutAttributes>(&instruction.attributes);
  const std::uint64_t stream = dropout == nullptr ? 0 : dropout->stream;
  std::uint64_t hash = random_bits(static_cast<std::uint64_t>(context.step), kind, stream);
  if (options_.by_choice) hash = mix64(hash + hash_of_choice(instruction));
  if (instruction.kind == graph::OpKind::kBatchNorm) {
    run_norm(instruction, operands, hash);
  } else {
    mix_all(instruction, operands, hash);
  }
  if (options_.op_seconds > 0) spin(options_.op_seconds * (options_.uneven ? 1 + (earlier + 1) % 5 : 1));
  return {};
}

void MixingGraph::to_plain(graph::TensorId tensor, const void* stored, std::span<float> plain) {
  SLUICE_CHECK(static_cast<Bytes>(plain.size_bytes()) <= graph_.tensor(tensor).bytes, "room for the values");
  std::memcpy(plain.data(), stored, plain.size_bytes());
}

void MixingGraph::from_plain(graph::TensorId tensor, std::span<const float> plain, void* stored) {
  SLUICE_CHECK(static_cast<Bytes>(plain.size_bytes()) <= graph_.tensor(tensor).bytes, "room for the values");
  std::memcpy(stored, plain.data(), plain.size_bytes());
}

}  // namespace sluice::testing

#include "sluice/kernels/onednn/fp16_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/fp16.hpp"

namespace sluice::kernels {
namespace {

constexpr std::size_t kPatterns = 65536;

std::vector<Float16> all_patterns() {
  std::vector<Float16> values(kPatterns);
  for (std::size_t i = 0; i < kPatterns; ++i) values[i].bits = static_cast<std::uint16_t>(i);
  return values;
}

// What a kernel of one input and one output makes of every fp16 there is.
std::vector<Float16> run_on_all(Kernel& kernel) {
  std::vector<Float16> from = all_patterns(), to(kPatterns);
  std::vector<std::byte> workspace(as_index(kernel.workspace_bytes) + 64);
  void* const scratch = workspace.data() + (64 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 64);
  std::vector<void*> operands{from.data(), to.data()};
  if (kernel.workspace_bytes > 0) operands.push_back(scratch);
  EXPECT_TRUE(kernel.run(operands, {}).ok());
  return to;
}

// Every number is there as often as before: denormals too, which are numbers of bf16 that some instructions make 0.
void expect_all_numbers(const std::vector<Float16>& moved) {
  std::vector<int> seen(kPatterns, 0);
  for (const Float16 value : moved) ++seen[value.bits];
  for (const Float16 value : all_patterns()) {
    if (std::isnan(to_float(value))) continue;
    ASSERT_EQ(seen[value.bits], 1) << std::hex << value.bits;
  }
}

TEST(Fp16Kernel, MovesEveryNumberAsItIs) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const graph::Shape image{8, 32, 16, 16};
  const Layout plain = plain_layout(image, graph::DType::kF16),
               blocked = blocked_image_layout(image, graph::DType::kF16);
  expect_all_numbers(run_on_all(*make_fp16_reorder(plain, blocked, engine)));
  expect_all_numbers(run_on_all(*make_fp16_reorder(blocked, plain, engine)));
  for (const graph::OpKind kind : {graph::OpKind::kTranspose, graph::OpKind::kSliceBatch, graph::OpKind::kPad}) {
    KernelRequest request{.kind = kind,
                          .inputs = {{{256, 256}, graph::DType::kF16, {}}},
                          .outputs = {{{256, 256}, graph::DType::kF16, {}}}};
    if (kind == graph::OpKind::kTranspose) request.attributes = graph::TransposeAttributes{{1, 0}};
    if (kind == graph::OpKind::kSliceBatch) request.slice.end = 256;
    if (kind == graph::OpKind::kPad) request.attributes = graph::PartAttributes{.end = 256, .shape = {256, 256}};
    SCOPED_TRACE(to_string(kind));
    expect_all_numbers(run_on_all(*make_kernel(request, engine)));
  }
}

}  // namespace
}  // namespace sluice::kernels

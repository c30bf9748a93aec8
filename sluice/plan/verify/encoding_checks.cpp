#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {
namespace {

// What the encodings are for, said here once more: the verifier takes nobody's word for it.
bool is_for(memory::Encoding encoding, graph::DType elements) {
  const bool floats =
      elements == graph::DType::kF32 || elements == graph::DType::kBF16 || elements == graph::DType::kF16;
  return floats == (encoding == memory::Encoding::kZeroValue);
}

class EncodingCheck {
 public:
  EncodingCheck(const graph::Graph& graph, const Plan& plan, const Names& names, Findings& findings)
      : graph_(graph),
        plan_(plan),
        names_(names),
        findings_(findings),
        in_block_(plan.residencies.size(), false),
        beginnings_(verify::step_beginnings(graph, plan)) {
    for (const Block& block : plan.blocks) {
      for (const ResidencyIndex member : block.members) in_block_[as_index(member)] = true;
    }
  }

  void run() {
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) {
      if (plan_.residencies[i].encoded()) check_residency(as_id<ResidencyIndex>(i));
    }
    for (std::size_t i = 0; i < plan_.migrations.size(); ++i) check_migration(as_id<MigrationIndex>(i));
  }

 private:
  const Residency& residency(ResidencyIndex i) const { return plan_.residencies[as_index(i)]; }

  void fail(graph::OpIndex op, ResidencyIndex i, const std::string& why) {
    findings_.add(Rule::kEncodingAllowed, op,
                  fmt::format("{} is to lie encoded ({}) in {}, {}", names_.tensor(residency(i).tensor),
                              to_string(residency(i).encoding), names_.residency(i), why));
  }

  void check_residency(ResidencyIndex i) {
    const Residency& r = residency(i);
    const graph::Tensor& tensor = graph_.tensor(r.tensor);
    if (!is_for(r.encoding, tensor.dtype)) {
      const bool for_floats = r.encoding == memory::Encoding::kZeroValue;
      fail(r.ops.begin, i,
           fmt::format("and its elements are {}: the encoding is for {}", to_string(tensor.dtype),
                       for_floats ? "f32, bf16 and f16" : "i32 and u8"));
    }
    if (r.tier == memory::kFastTier) fail(r.ops.begin, i, "and in the fastest tier nothing is encoded");
    if (in_block_[as_index(i)]) fail(r.ops.begin, i, "and is a member of a block, which moves as it is");
    const auto& beginnings = beginnings_[as_index(r.tensor)];
    if (std::ranges::find(beginnings, i) != beginnings.end()) {
      fail(r.ops.begin, i, "where it begins the step, and between steps tensors lie as they are");
    }
  }

  void check_migration(MigrationIndex index) {
    const Migration& m = plan_.migrations[as_index(index)];
    for (const auto& [encoded, other] : {std::pair(m.from, m.to), std::pair(m.to, m.from)}) {
      if (!residency(encoded).encoded() || residency(other).tier == memory::kFastTier) continue;
      fail(m.issue_after, encoded,
           fmt::format("and {} joins it with {}: only tier 0 does", names_.migration(index), names_.residency(other)));
    }
  }

  const graph::Graph& graph_;
  const Plan& plan_;
  const Names& names_;
  Findings& findings_;
  std::vector<bool> in_block_;                           // by ResidencyIndex
  std::vector<std::vector<ResidencyIndex>> beginnings_;  // by TensorId
};

}  // namespace

void check_encodings(const graph::Graph& graph, const Plan& plan, const Names& names, Findings& findings) {
  EncodingCheck(graph, plan, names, findings).run();
}

}  // namespace sluice::plan

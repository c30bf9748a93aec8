// Parameter updates, PyTorch's: see graph/autodiff/autodiff.hpp. They write what they read, group by group.
#include <cmath>

#include "sluice/kernels/cuda/cuda_kernels.hpp"
#include "sluice/kernels/cuda/groups.cuh"
#include "sluice/kernels/cuda/launch.cuh"

namespace sluice::kernels::cuda {
namespace {

// Products and sums are rounded one by one, as on the host: a multiply-add would make other bits.
void sgd_update(const CudaCall& call) {
  const GroupCells w(call.input(0));
  const GroupCells dw(call.input(1));
  const GroupCells momentum(call.input(2));
  const GroupCells new_w(call.output(0));
  const GroupCells new_momentum(call.output(1));
  const auto momentum_factor = static_cast<float>(call.as<graph::UpdateAttributes>().momentum);
  const auto weight_decay = static_cast<float>(call.as<graph::UpdateAttributes>().weight_decay);
  const StepOnDevice* const step = call.step;
  for_each_element(call.stream, w.groups(), [=] __device__(std::int64_t group) {
    Group weights = w.load(group);
    Group velocities = momentum.load(group);
    const Group gradients = dw.load(group);
    const float rate = step->learning_rate;
    for (int i = 0; i < kGroup; ++i) {
      const float gradient = __fadd_rn(gradients.of[i], __fmul_rn(weight_decay, weights.of[i]));
      velocities.of[i] = __fadd_rn(__fmul_rn(momentum_factor, velocities.of[i]), gradient);
      weights.of[i] = __fsub_rn(weights.of[i], __fmul_rn(rate, velocities.of[i]));
    }
    new_momentum.store(group, velocities);
    new_w.store(group, weights);
  });
}

// An Adam step of one group, given 1 - beta^steps of both betas.
struct AdamGroup {
  float rate, beta1, beta2, epsilon, weight_decay;
  bool decoupled;
  float correction1, correction2;

  __device__ void update(Group& w, const Group& dw, Group& moment1, Group& moment2) const {
    for (int i = 0; i < kGroup; ++i) {
      const float decay = weight_decay * w.of[i];
      const float gradient = decoupled ? dw.of[i] : dw.of[i] + decay;
      moment1.of[i] = beta1 * moment1.of[i] + (1 - beta1) * gradient;
      moment2.of[i] = beta2 * moment2.of[i] + (1 - beta2) * gradient * gradient;
      const float change = moment1.of[i] / correction1 / (sqrtf(moment2.of[i] / correction2) + epsilon);
      w.of[i] -= rate * (decoupled ? decay + change : change);
    }
  }
};

// Both corrections at a step. One thread of the block computes them, in fp64, which some devices are slow at.
__device__ Sums<2> corrections(Block& block, float beta1, float beta2, std::int64_t step) {
  const auto steps = static_cast<double>(step + 1);
  return block.sums<2>(1, [=](std::int64_t) {
    Sums<2> both;
    both.of[0] = static_cast<float>(1 - pow(static_cast<double>(beta1), steps));
    both.of[1] = static_cast<float>(1 - pow(static_cast<double>(beta2), steps));
    return both;
  });
}

void adam_update(const CudaCall& call) {
  constexpr std::int64_t kGroupsOfBlock = 1024;
  const graph::UpdateAttributes& attributes = call.as<graph::UpdateAttributes>();
  const AdamGroup given{0,
                        static_cast<float>(attributes.momentum),
                        static_cast<float>(attributes.beta2),
                        attributes.epsilon,
                        static_cast<float>(attributes.weight_decay),
                        attributes.decoupled,
                        1,
                        1};
  const GroupCells w(call.input(0)), dw(call.input(1)), moment1(call.input(2)), moment2(call.input(3));
  const GroupCells new_w(call.output(0)), new_moment1(call.output(1)), new_moment2(call.output(2));
  const std::int64_t groups = w.groups();
  const StepOnDevice* const step = call.step;
  const std::int64_t rows = (groups + kGroupsOfBlock - 1) / kGroupsOfBlock;
  for_each_row(call.stream, rows, [=] __device__(std::int64_t row, Block & block) {
    const Sums<2> both = corrections(block, given.beta1, given.beta2, step->step);
    AdamGroup adam = given;
    adam.rate = step->learning_rate;
    adam.correction1 = both.of[0];
    adam.correction2 = both.of[1];
    const std::int64_t begin = row * kGroupsOfBlock;
    const std::int64_t end = begin + kGroupsOfBlock < groups ? begin + kGroupsOfBlock : groups;
    block.for_each(end - begin, [&](std::int64_t k) {
      Group weights = w.load(begin + k), first = moment1.load(begin + k), second = moment2.load(begin + k);
      adam.update(weights, dw.load(begin + k), first, second);
      new_w.store(begin + k, weights);
      new_moment1.store(begin + k, first);
      new_moment2.store(begin + k, second);
    });
  });
}

}  // namespace

KernelEntries update_kernels() {
  return {
      {graph::OpKind::kSgdUpdate, sgd_update},
      {graph::OpKind::kAdamUpdate, adam_update},
  };
}

}  // namespace sluice::kernels::cuda

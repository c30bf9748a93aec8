// Compiled without contraction of products and sums into multiply-adds (sluice/CMakeLists.txt).
#include "sluice/kernels/onednn/loops/optimizer_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice {
namespace {

// `w`: the new weights.
template <typename Width, typename Gradient, typename Half>
SLUICE_INLINE inline void update_vector(const SgdStep& step, const UpdateOperands<Gradient, Half>& operands,
                                        std::int64_t at, Vector& w) {
  Vector gradient, velocity;
  load(operands.w + at, w);
  load(operands.gradient + at, gradient);
  load(operands.moment1 + at, velocity);
  gradient = step.scale * gradient + step.weight_decay * w;
  velocity = step.momentum * velocity + gradient;
  store(velocity, operands.new_moment1 + at);
  if (step.nesterov) velocity = gradient + step.momentum * velocity;
  w = w - step.rate * velocity;
  store(w, operands.new_w + at);
}

template <typename Width, typename Gradient, typename Half>
SLUICE_INLINE inline void update_vector(const AdamStep& step, const UpdateOperands<Gradient, Half>& operands,
                                        std::int64_t at, Vector& w) {
  Vector gradient, mean, square, root;
  load(operands.w + at, w);
  load(operands.gradient + at, gradient);
  load(operands.moment1 + at, mean);
  load(operands.moment2 + at, square);
  gradient = step.scale * gradient + step.weight_decay * w;
  mean = step.beta1 * mean + step.rest1 * gradient;
  square = step.beta2 * square + step.rest2 * (gradient * gradient);
  store(mean, operands.new_moment1 + at);
  store(square, operands.new_moment2 + at);
  square_root<Width>(square, root);
  w = step.keep * w - step.step_size * mean / (step.root_correction * root + step.epsilon);
  store(w, operands.new_w + at);
}

// Two vectors at a time, so that streaming stores fill whole cache lines.
template <typename Width, typename Step, typename Gradient, typename Half>
SLUICE_INLINE inline void update_pairs(const Step& given_step, const UpdateOperands<Gradient, Half>& given,
                                       std::int64_t begin, std::int64_t end) {
  // Of its own, as what is stored could be what a reference names.
  const Step step = given_step;
  const UpdateOperands<Gradient, Half> operands = given;
  Vector first, second;
  for (std::int64_t at = begin; at < end; at += kUpdateAlignment) {
    update_vector<Width>(step, operands, at, first);
    update_vector<Width>(step, operands, at + kLanes, second);
    if (operands.half != nullptr) stream<Width>(first, second, operands.half + at);
  }
}

// The last elements, in vectors of their own: what they share vectors with makes no difference to them.
template <typename Gradient, typename Half>
class Tail {
 public:
  Tail(const UpdateOperands<Gradient, Half>& all, std::int64_t begin, std::int64_t count)
      : all_(all), begin_(begin), count_(count) {
    copy(all.w, w_);
    copy(all.gradient, gradient_);
    copy(all.moment1, moment1_);
    copy(all.moment2, moment2_);
  }

  UpdateOperands<Gradient, Half> operands() {
    return {w_.data(), gradient_.data(), moment1_.data(), moment2_.data(),
            w_.data(), moment1_.data(),  moment2_.data(), all_.half == nullptr ? nullptr : half_.data()};
  }

  void write_back() const {
    copy_back(w_, all_.new_w);
    copy_back(moment1_, all_.new_moment1);
    copy_back(moment2_, all_.new_moment2);
    copy_back(half_, all_.half);
  }

 private:
  template <typename T>
  void copy(const T* from, std::array<T, kUpdateAlignment>& to) const {
    if (from != nullptr) std::copy_n(from + begin_, count_, to.begin());
  }
  template <typename T>
  void copy_back(const std::array<T, kUpdateAlignment>& from, T* to) const {
    if (to != nullptr) std::copy_n(from.begin(), count_, to + begin_);
  }

  const UpdateOperands<Gradient, Half>& all_;
  std::int64_t begin_, count_;
  std::array<float, kUpdateAlignment> w_{}, moment1_{}, moment2_{};
  std::array<Gradient, kUpdateAlignment> gradient_{};
  alignas(64) std::array<Half, kUpdateAlignment> half_{};
};

template <typename Step, typename Gradient, typename Half>
void update_all(const Step& step, const UpdateOperands<Gradient, Half>& operands, std::int64_t begin, std::int64_t end,
                VectorSet set) {
  const std::int64_t whole = begin + (end - begin) / kUpdateAlignment * kUpdateAlignment;
  vectorised([&](auto width) SLUICE_INLINE { update_pairs<decltype(width)>(step, operands, begin, whole); }, set);
  if (whole < end) {
    Tail<Gradient, Half> tail(operands, whole, end - whole);
    const UpdateOperands<Gradient, Half> last = tail.operands();
    vectorised([&](auto width) SLUICE_INLINE { update_pairs<decltype(width)>(step, last, 0, kUpdateAlignment); }, set);
    finish_streaming();
    tail.write_back();
  }
  if (operands.half != nullptr) finish_streaming();
}

}  // namespace

SgdStep sgd_step(const Attributes& attributes, const StepContext& context) {
  return {.rate = static_cast<float>(learning_rate_of(attributes, context)),
          .momentum = static_cast<float>(attributes.momentum),
          .weight_decay = static_cast<float>(attributes.weight_decay),
          .nesterov = attributes.nesterov};
}

AdamStep adam_step(const Attributes& attributes, const StepContext& context) {
  const auto t = static_cast<double>(context.step + (attributes.delayed ? 0 : 1));  // this update is the t-th
  const double rate = learning_rate_of(attributes, context);
  const double beta1 = attributes.momentum, beta2 = attributes.beta2, decay = attributes.weight_decay;
  return {.beta1 = static_cast<float>(beta1),
          .rest1 = static_cast<float>(1 - beta1),
          .beta2 = static_cast<float>(beta2),
          .rest2 = static_cast<float>(1 - beta2),
          .epsilon = attributes.epsilon,
          .weight_decay = static_cast<float>(attributes.decoupled ? 0 : decay),
          .keep = static_cast<float>(attributes.decoupled ? 1 - rate * decay : 1),
          .step_size = static_cast<float>(rate / (1 - std::pow(beta1, t))),
          .root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t)))};
}

template <typename Gradient, typename Half>
void update_elements(const SgdStep& step, const UpdateOperands<Gradient, Half>& operands, std::int64_t begin,
                     std::int64_t end, VectorSet set) {
  update_all(step, operands, begin, end, set);
}

template <typename Gradient, typename Half>
void update_elements(const AdamStep& step, const UpdateOperands<Gradient, Half>& operands, std::int64_t begin,
                     std::int64_t end, VectorSet set) {
  update_all(step, operands, begin, end, set);
}

template void update_elements(const SgdStep&, const UpdateOperands<float>&, std::int64_t, std::int64_t, VectorSet);
template void update_elements(const SgdStep&, const UpdateOperands<BFloat16>&, std::int64_t, std::int64_t, VectorSet);
template void update_elements(const AdamStep&, const UpdateOperands<float>&, std::int64_t, std::int64_t, VectorSet);
template void update_elements(const AdamStep&, const UpdateOperands<BFloat16>&, std::int64_t, std::int64_t, VectorSet);
template void update_elements(const SgdStep&, const UpdateOperands<float, Float16>&, std::int64_t, std::int64_t,
                              VectorSet);
template void update_elements(const SgdStep&, const UpdateOperands<Float16, Float16>&, std::int64_t, std::int64_t,
                              VectorSet);
template void update_elements(const AdamStep&, const UpdateOperands<float, Float16>&, std::int64_t, std::int64_t,
                              VectorSet);
template void update_elements(const AdamStep&, const UpdateOperands<Float16, Float16>&, std::int64_t, std::int64_t,
                              VectorSet);

}  // namespace sluice

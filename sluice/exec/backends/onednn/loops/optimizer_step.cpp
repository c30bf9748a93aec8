// Compiled without contraction of products and sums into multiply-adds (sluice/CMakeLists.txt).
#include "sluice/exec/backends/onednn/loops/optimizer_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice {
namespace {

template <typename Width, typename Gradient>
SLUICE_INLINE inline void write_weight(const Vector& w, const UpdateOperands<Gradient>& operands, std::int64_t at) {
  store(w, operands.new_w + at);
  if (operands.half != nullptr) stream<Width>(w, operands.half + at);
}

template <typename Width, typename Gradient>
SLUICE_INLINE inline void update_vector(const SgdStep& step, const UpdateOperands<Gradient>& operands,
                                        std::int64_t at) {
  Vector w, gradient, velocity;
  load(operands.w + at, w);
  load(operands.gradient + at, gradient);
  load(operands.moment1 + at, velocity);
  gradient = step.scale * gradient + step.weight_decay * w;
  velocity = step.momentum * velocity + gradient;
  store(velocity, operands.new_moment1 + at);
  write_weight<Width>(w - step.rate * velocity, operands, at);
}

template <typename Width, typename Gradient>
SLUICE_INLINE inline void update_vector(const AdamStep& step, const UpdateOperands<Gradient>& operands,
                                        std::int64_t at) {
  Vector w, gradient, mean, square, root;
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
  write_weight<Width>(step.keep * w - step.step_size * mean / (step.root_correction * root + step.epsilon), operands,
                      at);
}

// The last elements, in vectors of their own: what they share a vector with makes no difference to them.
template <typename Gradient>
class Tail {
 public:
  Tail(const UpdateOperands<Gradient>& all, std::int64_t begin, std::int64_t count)
      : all_(all), begin_(begin), count_(count) {
    copy(all.w, w_);
    copy(all.gradient, gradient_);
    copy(all.moment1, moment1_);
    copy(all.moment2, moment2_);
  }

  UpdateOperands<Gradient> operands() {
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
  void copy(const T* from, std::array<T, kLanes>& to) const {
    if (from != nullptr) std::copy_n(from + begin_, count_, to.begin());
  }
  template <typename T>
  void copy_back(const std::array<T, kLanes>& from, T* to) const {
    if (to != nullptr) std::copy_n(from.begin(), count_, to + begin_);
  }

  const UpdateOperands<Gradient>& all_;
  std::int64_t begin_, count_;
  std::array<float, kLanes> w_{}, moment1_{}, moment2_{};
  std::array<Gradient, kLanes> gradient_{};
  alignas(32) std::array<BFloat16, kLanes> half_{};
};

template <typename Step, typename Gradient>
void update_all(const Step& step, const UpdateOperands<Gradient>& operands, std::int64_t begin, std::int64_t end,
                VectorSet set) {
  const std::int64_t whole = begin + (end - begin) / kLanes * kLanes;
  vectorised(
      [&](auto width) SLUICE_INLINE {
        for (std::int64_t at = begin; at < whole; at += kLanes) update_vector<decltype(width)>(step, operands, at);
      },
      set);
  if (whole < end) {
    Tail<Gradient> tail(operands, whole, end - whole);
    const UpdateOperands<Gradient> last = tail.operands();
    vectorised([&](auto width) SLUICE_INLINE { update_vector<decltype(width)>(step, last, 0); }, set);
    finish_streaming();
    tail.write_back();
  }
  if (operands.half != nullptr) finish_streaming();
}

}  // namespace

SgdStep sgd_step(const Attributes& attributes, const StepContext& context) {
  return {.rate = context.learning_rate, .momentum = attributes.momentum, .weight_decay = attributes.weight_decay};
}

AdamStep adam_step(const Attributes& attributes, const StepContext& context) {
  const auto t = static_cast<double>(context.step + 1);
  const double rate = context.learning_rate;
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

template <typename Gradient>
void update_elements(const SgdStep& step, const UpdateOperands<Gradient>& operands, std::int64_t begin,
                     std::int64_t end, VectorSet set) {
  update_all(step, operands, begin, end, set);
}

template <typename Gradient>
void update_elements(const AdamStep& step, const UpdateOperands<Gradient>& operands, std::int64_t begin,
                     std::int64_t end, VectorSet set) {
  update_all(step, operands, begin, end, set);
}

template void update_elements(const SgdStep&, const UpdateOperands<float>&, std::int64_t, std::int64_t, VectorSet);
template void update_elements(const SgdStep&, const UpdateOperands<BFloat16>&, std::int64_t, std::int64_t, VectorSet);
template void update_elements(const AdamStep&, const UpdateOperands<float>&, std::int64_t, std::int64_t, VectorSet);
template void update_elements(const AdamStep&, const UpdateOperands<BFloat16>&, std::int64_t, std::int64_t, VectorSet);

}  // namespace sluice

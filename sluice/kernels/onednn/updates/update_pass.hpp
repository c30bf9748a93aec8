// The pass over memory of an update, whatever it does to an element: in any vectors, the last elements too, and with the new
// parameter in 16 bits. An optimizer's file has update_vector() of its step, and is compiled without contraction of products
// and sums into multiply-adds (sluice/CMakeLists.txt).
#pragma once

#include <algorithm>
#include <array>

#include "sluice/kernels/onednn/updates/optimizer_step.hpp"

namespace sluice::kernels {

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

// update_elements() of a step, for every type of gradients and copies.
#define SLUICE_UPDATE_ELEMENTS(Step)                                                                                  \
  template <typename Gradient, typename Half>                                                                         \
  void update_elements(const Step& step, const UpdateOperands<Gradient, Half>& operands, std::int64_t begin,          \
                       std::int64_t end, VectorSet set) {                                                             \
    update_all(step, operands, begin, end, set);                                                                      \
  }                                                                                                                   \
  template void update_elements(const Step&, const UpdateOperands<float>&, std::int64_t, std::int64_t, VectorSet);    \
  template void update_elements(const Step&, const UpdateOperands<BFloat16>&, std::int64_t, std::int64_t, VectorSet); \
  template void update_elements(const Step&, const UpdateOperands<float, Float16>&, std::int64_t, std::int64_t,       \
                                VectorSet);                                                                           \
  template void update_elements(const Step&, const UpdateOperands<Float16, Float16>&, std::int64_t, std::int64_t,     \
                                VectorSet);

}  // namespace sluice::kernels

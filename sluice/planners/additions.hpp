// Additions of ours to a planner's published algorithm. Each can be switched off, so that measurements show the paper's
// algorithm apart from ours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

struct PlannerAddition {
  std::string_view name;     // as the user writes it
  std::string_view summary;  // one line for --help
};

// Which of one planner's additions are on: all of them to begin with. A planner numbers its own with an enum, in the
// order of its PlannerEntry's list.
class AdditionSet {
 public:
  static AdditionSet none() {
    AdditionSet set;
    set.bits_ = 0;
    return set;
  }

  void add(std::size_t index) { bits_ |= std::uint32_t{1} << index; }

  template <typename Addition>
  bool has(Addition addition) const {
    return ((bits_ >> static_cast<std::uint32_t>(addition)) & 1U) != 0;
  }

 private:
  std::uint32_t bits_ = ~std::uint32_t{0};
};

// "choice+staying", or "none": as the user would write it.
std::string names_of_additions(AdditionSet set, std::span<const PlannerAddition> known);

}  // namespace sluice

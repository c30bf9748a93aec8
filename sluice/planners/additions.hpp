// What we added to a planner's published algorithm. Each addition can be switched off, so that measurements can show
// the paper's algorithm without our additions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::planners {

struct PlannerAddition {
  std::string_view name;                 // as the user writes it
  std::string_view summary;              // one line for --help
  bool by_default = true;                // on where the user names no additions
  bool wants_encodings = false;          // needs EncodingFigures in the profile
  bool chooses_implementations = false;  // looks at Profile::choices for other implementations of ops than the first
  bool gives_ops_to_processors = false;  // as PlannerEntry's
};

// The set of one planner's additions that are on. To begin with, all of them are (choose_planner() leaves out those
// that must be named). Each planner numbers its additions
// with an enum, in the order of PlannerEntry::additions.
class AdditionSet {
 public:
  static AdditionSet none() {
    AdditionSet set;
    set.bits_ = 0;
    return set;
  }

  void add(std::size_t index) { bits_ |= std::uint32_t{1} << index; }
  void remove(std::size_t index) { bits_ &= ~(std::uint32_t{1} << index); }

  template <typename Addition>
  bool has(Addition addition) const {
    return ((bits_ >> static_cast<std::uint32_t>(addition)) & 1U) != 0;
  }

 private:
  std::uint32_t bits_ = ~std::uint32_t{0};
};

// "choice+staying", or "none": as the user would write it.
std::string names_of_additions(AdditionSet set, std::span<const PlannerAddition> known);

}  // namespace sluice::planners

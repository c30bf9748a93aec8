// What joint does only where it is named, in the order of joint_planner()'s additions.
#pragma once

namespace sluice::planners {

enum class JointAddition {
  kKernels,     // other implementations of ops, by prices of room (kernels_by_price.hpp)
  kEncode,      // what the profile shows to be worth it moves in fewer bytes (encode_where_worth())
  kProcessors,  // updates by other processors, where that is faster (on_processors.hpp)
};

}  // namespace sluice::planners

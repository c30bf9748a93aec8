// A policy's answers as tests look at them: what an access finds, and how many bytes are copied for it.
#pragma once

#include <initializer_list>
#include <vector>

#include "sluice/policies/policy.hpp"

namespace sluice::policies {

struct Answer : AccessCharge {
  memory::MoveList moves;
  Bytes copied_in = 0;
  Bytes copied_out = 0;
};

inline Answer ask(Policy& policy, const std::vector<Access>& accesses, Seconds now = 0) {
  Answer answer;
  static_cast<AccessCharge&>(answer) = policy.access(accesses, now, answer.moves);
  const memory::Copied copied = memory::copied_by(answer.moves);
  answer.copied_in = copied.in;
  answer.copied_out = copied.out;
  return answer;
}

// What the policy's own threads copy.
inline memory::Copied work(Policy& policy, Seconds from, Seconds to) {
  memory::MoveList moves;
  policy.advance(from, to, moves);
  return memory::copied_by(moves);
}

}  // namespace sluice::policies

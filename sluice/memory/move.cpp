#include "sluice/memory/move.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::memory {

Copied& Copied::operator+=(const Copied& more) {
  in += more.in;
  out += more.out;
  return *this;
}

Copied copied_by(const MoveList& moves) {
  Copied copied;
  for (const RangeMove& move : moves.moves()) {
    if (move.from != kUntouched) (move.to < move.from ? copied.in : copied.out) += move.bytes.length();
  }
  return copied;
}

void add_to_links(const Machine& machine, const MoveList& moves, std::vector<Bytes>& link_bytes) {
  link_bytes.resize(machine.links.size());
  for (const RangeMove& move : moves.moves()) {
    if (move.from == kUntouched) continue;
    const auto link = machine.link_between(move.from, move.to);
    SLUICE_CHECK(link.has_value(), "a link for every copy");
    link_bytes[as_index(*link)] += move.bytes.length();
  }
}

}  // namespace sluice::memory

// Moves of tensors inside a run's memory, between two programs that want them in different places of it.
#pragma once

#include <span>
#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

struct TensorMove {
  program::Location from;
  program::Location to;
  Bytes bytes = 0;
};

// The moves (by index) in an order in which none overwrites what a later one, or itself, has yet to read. Where moves wait
// for one another in a circle, one of them is left out, and whoever asks puts its bytes aside first. What they read is
// disjoint, and so is what they write. n log n.
std::vector<std::size_t> order_moves(std::span<const TensorMove> moves);

// One after the other. Whole blocks between tiers with a link go through its engine, and take the time that it takes;
// the rest is copied. After an error what they were to write is undefined.
Status perform_moves(const memory::Machine& machine, const memory::TierStorages& storages,
                     std::span<const TensorMove> moves);

}  // namespace sluice::exec

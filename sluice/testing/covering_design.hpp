// Few cases that still combine everything with everything: a covering array. For factors (a planner, a budget, a tier)
// with so many levels each, every combination of levels of any `strength` factors is in at least one row. Strength 2,
// all pairs, finds faults that two choices cause together with a small part of the full product's cases.
//
// Greedy, row by row: a row begins with a combination that no row has yet, and each further factor takes the level that
// adds most combinations (Cohen et al., "The AETG system", IEEE TSE 23(7), 1997). Deterministic: the same rows everywhere.
// Of levels that add equally many, the one that was taken least often so far is taken.
//
// Cost: rows x factors x levels x combinations of `strength` - 1 factors; milliseconds for tens of levels.
#pragma once

#include <vector>

namespace sluice::testing {

// `levels`: by factor, each at least 1. `strength`: from 1 to the number of factors. A row has a level for each factor.
std::vector<std::vector<int>> covering_design(const std::vector<int>& levels, int strength);

}  // namespace sluice::testing

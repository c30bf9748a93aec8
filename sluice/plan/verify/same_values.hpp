// Whether a schedule leaves every value as it is: each execution reads what its op reads in the graph's own order.
//
// A value is known by the op that makes it first (graph/value_numbers.hpp). Ops are functions of what they read (and
// draw by counters, see Repeat in op_traits.hpp), so two executions of an op that read the same values write the same
// bits. It is therefore enough to compare, slot by slot, the values read with those of the graph's order, and at the
// end of the step the values of what outlives it. This sees at once an op before its operand is made, a value that was
// overwritten in between, an update done twice, and an op left out that makes something of its own.
//
// The numbering is the one by which graph/reschedule.cpp leaves ops out: a fault in it would be in both. It has its own
// tests (graph/value_numbers_test.cpp), and random schedules with ops left out are run and their bits compared.
//
// The graph of the schedule is taken as it is, however it was made: that its ops are those of the given graph, and its
// new tensors like those they stand for, is checked, too.
#pragma once

#include <span>
#include <vector>

#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/verify/verifier.hpp"

namespace sluice::plan {

// Violations of kSameValues, in slot order, at most `most`.
std::vector<Violation> check_same_values(const graph::Graph& graph, const graph::Rescheduled& scheduled,
                                         std::size_t most);

// Whether every op runs in one way, however often: implementations and processors round differently, so that an op that runs
// twice by two of them leaves readers with other bits than the graph's order does. An op that makes again what another has
// made is one of its own while it runs; where it is left out it goes by the other's choice (plan/op_choices.hpp).
// `choices` by slot of `schedule`, whose entries are ops of the graph. As above.
std::vector<Violation> check_same_choices(const graph::Graph& graph, std::span<const graph::OpIndex> schedule,
                                          std::span<const graph::OpChoice> choices, std::size_t most);

}  // namespace sluice::plan

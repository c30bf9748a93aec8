// What a plan has in store for one tensor, or for one op: its life in a step, slot by slot, in words.
//
//   conv4_1.conv2d, activation of 12.2 MiB
//     slot 14   conv4_1.conv2d makes it in dram
//     slot 15   conv4_2.conv2d reads it in dram
//               behind the op it starts to leave for file; there before slot 19
//     slot 40   behind the op it starts to come to dram; there before slot 44
//     slot 44   conv4_2.conv2d_backward_weights reads it in dram, for the last time
//
// A tensor that is made again is told with all its copies. Pure functions, O(ops + migrations).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::report {

struct LifeEvent {
  graph::OpIndex slot = 0;  // kStepStart: before the step; op_count(): at its end
  std::string_view kind;  // "begins", "makes", "reads", "updates", "leaves", "comes", "makes again", "left out", "ends"
  std::string text;
};

struct Explanation {
  std::string subject;
  std::vector<LifeEvent> events;  // in the order in which they happen
};

// Names are those of the plan file. A tensor and an op of one name are both explained, the op first. The plan must be
// one of `graph` that the verifier has passed. kBadInput where nothing has the name, with names that contain it.
Result<std::vector<Explanation>> explain(const graph::Graph& graph, const memory::Machine& machine,
                                         const plan::Plan& plan, std::string_view name);

std::string explanation_text(const Explanation& explanation);
nlohmann::json explanation_json(const Explanation& explanation);  // {"subject", "events": [{"slot", "kind", "text"}]}

}  // namespace sluice::report

// What every planner says it does (planners/planner_traits.hpp), as a table for people, for documents and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::report {

std::string planner_table_text();
std::string planner_table_markdown();  // the table of docs/planners.md
nlohmann::json planner_table_json();   // an object a planner, keys as the fields of PlannerTraits

}  // namespace sluice::report

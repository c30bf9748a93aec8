// The subcommands of `sluice`, one file each. add_*() describes a subcommand to the parser; when it is the one asked
// for, it leaves what is to be done in `action`.
#pragma once

#include <functional>

#include "sluice/base/result.hpp"
#include "tools/process/exit_codes.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

// What a subcommand found, as an exit code.
using Action = std::function<Result<int>()>;

void add_machine_command(CLI::App& app, Action& action);
void add_models_command(CLI::App& app, Action& action);
void add_planners_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_characterize_command(CLI::App& app, Action& action);
void add_profile_command(CLI::App& app, Action& action);
void add_max_batch_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_verify_command(CLI::App& app, Action& action);
void add_explain_command(CLI::App& app, Action& action);
void add_simulate_command(CLI::App& app, Action& action);
void add_train_command(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_sweep_command(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action);
void add_allocate_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_worker_command(CLI::App& app, Action& action);     // hidden: see sluice/experiment/worker.hpp
void add_gradients_command(CLI::App& app, Action& action);  // hidden: see sluice/experiment/gradient_dump.hpp

}  // namespace sluice::cli

// Everything that a program which uses Sluice as a library may include; the headers behind it are the installed ones.
// All others are private: they change without notice and are not installed.
//
// What one does with it, from left to right; every arrow is a value that can be kept, printed or made by hand:
//
//   build_workload() ──► measure_profile() ──► plan_workload() ──► Session::create() ──► run_training()
//   make_machine()   ──► probe_machine()       read_plan(), verify_plan(), simulate()
//
// examples/plan_only and examples/train_in_budget are programs of a page each. Errors come as Result<T>; nothing throws
// but a broken precondition (std::logic_error). No header of oneDNN, liburing, libnuma or OpenMP comes along.
#pragma once

// What is trained: built-in models, ONNX files, graphs of one's own.
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/models/model.hpp"
#include "sluice/onnx/import.hpp"
#include "sluice/train/workload/workload.hpp"

// On which machine, and what a step costs there.
#include "sluice/experiment/machine_probe.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/profile/profile_cache.hpp"

// Where everything lives: plans, their proof, their file, their prediction.
#include "sluice/plan/plan_file.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/train/planning/planning.hpp"

// Training.
#include "sluice/train/session.hpp"
#include "sluice/train/training_loop.hpp"

// Page accesses of a program that is no neural network.
#include "sluice/memory/observe/page_tracker.hpp"
#include "sluice/profile/training_profile.hpp"

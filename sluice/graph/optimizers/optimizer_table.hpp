// The table of optimizers: a line each, and one for each kind of op that they update parameters by (op_table.hpp). What an
// optimizer is stands in a file of its own: graph/optimizers/optimizer_NAME.cpp defines NAME_optimizer, its row. So does what
// an update does: in each backend, and in the op cases, update_NAME.cpp, or what the lines below become there.
#pragma once

// clang-format off
#define SLUICE_OPTIMIZERS(OPTIMIZER) \
  OPTIMIZER(kSgd, sgd)               \
  OPTIMIZER(kAdam, adam)             \
  OPTIMIZER(kAdamW, adamw)           \
  OPTIMIZER(kLion, lion)

#define SLUICE_UPDATES(UPDATE)       \
  UPDATE(kSgdUpdate, sgd)            \
  UPDATE(kAdamUpdate, adam)          \
  UPDATE(kLionUpdate, lion)
// clang-format on

#include "sluice/train/workload.hpp"

namespace sluice {

Result<Workload> build_workload(const WorkloadOptions& options) {
  SLUICE_ASSIGN(const Graph logical, build_training_model(options.model, options.shape, options.sgd));
  Workload workload;
  workload.options = options;
  workload.logical_fingerprint = logical.fingerprint();
  workload.backend = make_onednn_backend();
  SLUICE_ASSIGN(workload.compiled, workload.backend->compile(logical, options.threads));
  return workload;
}

}  // namespace sluice

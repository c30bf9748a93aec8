// Workload options as JSON, for the protocol between `sluice compare` (and benchmarks) and its workers.
//
//   {"model": "bert_base", "batch": 8, "sequence": 128, "optimizer": "adamw", "weight_decay": 0.01, "threads": 2}
//
// Fields: model or onnx (a path), loss (of an ONNX file), batch, image_size, classes, sequence, width, depth, dropout,
// optimizer, momentum, beta2, epsilon, weight_decay, delay_updates, clip_norm, accumulate, ranks, loss_scale, keep_norm_outputs, precision, finer_slices, threads and backend of the main
// processor, other_processors ([{"threads", "backend"}]). Missing fields, and 0 for sizes, stand for the defaults.
// Errors: kBadInput for unknown fields and wrong types.
#pragma once

#include <nlohmann/json.hpp>

#include "sluice/base/json_reader.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::train {

nlohmann::json workload_to_json(const WorkloadOptions& options);
Result<WorkloadOptions> workload_from_json(const nlohmann::json& document);
Status read_json(const JsonReader& reader, WorkloadOptions& options);  // the same within a larger document

}  // namespace sluice::train

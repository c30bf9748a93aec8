// Reads an ONNX file (opset 9 to 22) as a forward graph that can be trained: weights from the file, a loss at its end.
//
// Initializers may be embedded or in external files beside the model. Constants are folded, Identity and inference-only
// Dropout scaling are removed, patterns that exporters break into small ops (GELU, layer norm, attention masks, flatten
// and reshape arithmetic) are read as the one op they stand for. BatchNormalization becomes training batch norm.
// Everything the importer does not know is listed at once, each with its node's name.
// Errors (kBadInput, kIo): not a model, truncated, missing external data, unsupported opset, op, attribute or dtype,
// shapes that do not fit, cycles, extents of zero, lengths beyond the file. Never a crash: the file is not trusted.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/base/units.hpp"
#include "sluice/graph/given_values.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::onnx {

enum class OnnxLoss { kAuto, kCrossEntropy, kNextToken, kMaskedToken, kFirstOutput };  // the last: it is the loss

struct OnnxOptions {
  // Initializers that are parameters, also single numbers, and no others are; empty: all that look like weights. Those of
  // different groups, by number, stay parameters of their own.
  std::map<std::string, int> trained;
  // Every input is data that the caller has, of any shape, masks among them; batch norms train where their nodes say so.
  bool given = false;
  std::int64_t batch = 0;     // of the first input; 0: the file's, or 1 where it is a name
  std::int64_t sequence = 0;  // of token inputs with a symbolic length; 0: the file's, or 128
  OnnxLoss loss =
      OnnxLoss::kAuto;  // kAuto: kNextToken for a token input with one output row per token, else cross-entropy
};

struct OnnxModel {
  graph::Graph forward;
  std::shared_ptr<const graph::GivenValues> values;
  std::int64_t opset = 0;
  std::vector<std::string> notes;  // what was changed on the way, for people
};

Result<OnnxModel> import_onnx(const std::filesystem::path& path, const OnnxOptions& options);

// Writes a copy of the model at `source` to `target` with its initializers replaced by trained values. `read` is asked
// for whole parameters and buffers by graph tensor name (a sliced parameter's parts are joined by the caller).
// `options`: what the model was imported with. External data becomes part of the copy; where all of it is more than one
// file holds, tensors of 64 KiB and more lie in `target` + ".weights" beside it. Both are written whole or not at all
// (base/atomic_file.hpp), the weights first.
inline constexpr Bytes kMostInOneModel =
    (Bytes{1} << 31) - kMiB;  // protobuf's, with room for what refers to the weights
using ReadParameter = std::function<Result<std::vector<float>>(const std::string& name)>;
Status export_onnx(const std::filesystem::path& source, const std::filesystem::path& target, const ReadParameter& read,
                   const OnnxOptions& options = {}, Bytes most = kMostInOneModel);

// Whether a copy of the model at `source` could be written to `target` now: its files have a folder and room.
Status try_export(const std::filesystem::path& source, const std::filesystem::path& target,
                  Bytes most = kMostInOneModel);

}  // namespace sluice::onnx

// Persistent tensors on disk while no program has them in memory: what a change of graph or plan does not carry over
// (run_state.hpp). The values are exact: row-major fp32, in files without a name, so that none is left behind when the
// process ends.
//
// A tensor is known by its whole's name (graph/ops/tensor.hpp): the slices of one graph are the "w" of another. A graph may have
// fewer rows of a parameter than another (position embeddings: as many as the sequence is long); it then has the first
// ones. update() leaves what a graph does not have as it was.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sluice/memory/files/spill_file.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/train/parameters/parameters.hpp"

namespace sluice::train {

class ParkedTensors {
 public:
  explicit ParkedTensors(std::string folder) : folder_(std::move(folder)) {}

  // Writes all persistent tensors of `access` to a file in `folder`. Errors: kOutOfSpace, kIo.
  static Result<ParkedTensors> park(ParameterAccess& access, const std::string& folder);

  // Takes over the values of these persistent tensors of `access`, and keeps those of others. Opens another file when a
  // parameter is new or has more rows than before. kMismatch when one has rows of another length than before.
  Status update(ParameterAccess& access, std::span<const graph::TensorId> tensors);
  Status update(ParameterAccess& access) { return update(access, persistent_tensors(access.graph())); }

  // Gives these persistent tensors of `access` their parked values. kMismatch when there is none, or not of its shape.
  Status restore(ParameterAccess& access, std::span<const graph::TensorId> tensors) const;
  Status restore(ParameterAccess& access) const { return restore(access, persistent_tensors(access.graph())); }

  // The same, but rows without a parked value start as initialise_parameters() says.
  Status restore_or_initialise(ParameterAccess& access, std::span<const graph::TensorId> tensors, std::uint64_t seed,
                               const graph::GivenValues* given) const;

  bool holds_all_of(const graph::Graph& graph, std::span<const graph::TensorId> tensors) const;

  void forget();  // and give the disk back

  // Whole parameters, by name, and all the values of one; for checkpoints (checkpoint.hpp).
  struct Whole {
    std::string name;
    std::int64_t rows = 1;
    std::int64_t row_elements = 1;

    std::int64_t elements() const { return rows * row_elements; }
    bool operator==(const Whole&) const = default;
  };
  std::vector<Whole> wholes() const;
  Status reserve(std::span<const Whole> wholes);  // as update() does
  Status read_whole(const std::string& name, std::span<float> values) const;
  Status write_whole(const std::string& name, std::span<const float> values);

  // Hash over names and values in the order of names: equal for equal bits, however graphs slice them.
  Result<std::string> hash() const;

 private:
  struct Place {
    std::size_t file = 0;
    Bytes offset = 0;
    std::int64_t rows = 0;
    std::int64_t row_elements = 0;
  };

  Status check_rows(const std::string& whole, std::int64_t row_elements) const;
  Status copy(const Place& from, const Place& to) const;
  std::int64_t rows_held(const graph::Tensor& tensor) const;  // of the tensor's own, from its first
  Status read(const graph::Tensor& tensor, std::span<float> first_rows) const;

  std::string folder_;
  std::vector<memory::SpillFile> files_;
  std::map<std::string, Place> places_;  // by the whole parameter's name
};

// Where a run may put files: the folder of the machine's file tier, else default_spill_path().
std::string scratch_folder(const memory::Machine& machine);

}  // namespace sluice::train

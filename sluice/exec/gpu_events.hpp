// The events of a step on the GPU: what streams wait for, and when everything began and ended.
//
// An event that others wait for and one that is timed are two: in a recorded step (a CUDA graph) the first becomes an
// edge, the second a node. Only what somebody waits for has the first kind.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::exec {

class GpuEvents {
 public:
  explicit GpuEvents(const program::Program& program);
  ~GpuEvents();
  GpuEvents(const GpuEvents&) = delete;
  GpuEvents& operator=(const GpuEvents&) = delete;

  void set_recording(bool recording) { recording_ = recording; }

  void begin(cudaStream_t stream);
  void end(cudaStream_t stream);
  void begin_op(cudaStream_t stream, graph::OpIndex op);  // of one that waits for something
  void end_op(cudaStream_t stream, graph::OpIndex op);
  void begin_transfer(cudaStream_t stream, program::TransferIndex transfer);
  void end_transfer(cudaStream_t stream, program::TransferIndex transfer);

  void wait_for_begin(cudaStream_t stream) const;
  void wait_for_op(cudaStream_t stream, graph::OpIndex op) const;
  void wait_for_transfer(cudaStream_t stream, program::TransferIndex transfer) const;
  void wait_on_host(graph::OpIndex op) const;  // until the op of the step that runs is done

  // Of the step that has ended.
  void read_times(const program::Program& program, program::StepTimes& times) const;

 private:
  struct Marks {
    cudaEvent_t begin = nullptr;  // timed
    cudaEvent_t end = nullptr;    // timed
    cudaEvent_t done = nullptr;   // waited for
  };

  void record_time(cudaEvent_t event, cudaStream_t stream) const;
  Seconds since_begin(cudaEvent_t event) const;
  void destroy(const Marks& marks) const;

  bool recording_ = false;
  Marks step_;
  std::vector<Marks> ops_;        // by OpIndex
  std::vector<Marks> transfers_;  // by TransferIndex
};

}  // namespace sluice::exec

#include "sluice/testing/program_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::testing {
namespace {

constexpr graph::TensorId kNobody = -1;
constexpr graph::TensorId kBeingWritten = -2;  // `version` says by whom

struct Label {
  graph::TensorId tensor = kNobody;
  std::int64_t version = 0;
  Bytes part = 0;  // from which byte of the tensor on
  bool encoded = false;
  bool operator==(const Label&) const = default;
};

enum class Progress { kWaiting, kRunning, kDone };

class AdversarialRun {
 public:
  AdversarialRun(const graph::Graph& graph, const program::Program& program, std::uint64_t seed)
      : graph_(graph),
        program_(program),
        compute_lanes_(program::compute_lanes(program)),
        random_(seed),
        written_(graph.tensors().size(), 0) {
    cells_.resize(program.arena_bytes.size());
    cut_into_cells();
    for (graph::TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
      if (graph::is_persistent(graph.tensor(tensor).role)) fill(tensor, program.step_start[as_index(tensor)], 0);
    }
    hold_transfers_ = random_.pick(std::vector<double>{0, 0.2, 0.6, 1});
    for (std::size_t i = 0; i < compute_lanes_.size(); ++i) hold_compute_.push_back(random_.chance(0.3));
  }

  std::optional<std::string> run_step() {
    begin_step();
    while (!wrong_ && !finished()) {
      std::vector<Event> events = possible_events();
      if (events.empty()) return "nothing can go on: deadlock";
      if (std::any_of(events.begin(), events.end(), [](const Event& event) { return !event.held; })) {
        std::erase_if(events, [](const Event& event) { return event.held; });
      }
      happen(random_.pick(events));
    }
    for (graph::TensorId tensor = 0; tensor < graph_.tensor_count() && !wrong_; ++tensor) {
      const graph::Role role = graph_.tensor(tensor).role;
      if (!graph::is_persistent(role) && role != graph::Role::kOutput) continue;
      expect(tensor, program_.step_start[as_index(tensor)], written_[as_index(tensor)], "after the step, the caller");
    }
    return wrong_;
  }

 private:
  struct Event {
    program::TransferIndex transfer = -1;  // one of the two
    graph::OpIndex op = -1;
    bool starts = false;
    bool held = false;
  };
  struct TransferState {
    Progress progress = Progress::kWaiting;
    std::vector<std::int64_t> versions;  // that it must find, by part
    bool hold_start = false, hold_finish = false;
  };
  struct OpState {
    Progress progress = Progress::kWaiting;
    std::vector<std::int64_t> reads;   // versions that it must find, by input
    std::vector<std::int64_t> writes;  // that it makes, by output
  };

  // A cell begins wherever something that the program touches begins or ends.
  void cut_into_cells() {
    const auto cut = [&](const program::Location& place, Bytes bytes) {
      for (const Interval<Bytes>& memory : memory_of(place, bytes)) {
        cells_[as_index(place.tier)][memory.begin];
        cells_[as_index(place.tier)][memory.end];
      }
    };
    for (const program::ComputeInstruction& instruction : program_.compute) {
      std::vector<graph::TensorId> operands = graph_.op(instruction.op).inputs;
      operands.insert(operands.end(), graph_.op(instruction.op).outputs.begin(),
                      graph_.op(instruction.op).outputs.end());
      for (std::size_t i = 0; i < operands.size(); ++i) cut(instruction.operands[i], bytes_of(operands[i]));
    }
    for (const program::TransferInstruction& transfer : program_.transfers) {
      for (const program::Location& place : {transfer.from, transfer.to}) {
        cut(place, transfer.bytes);
        for (const program::TransferPart& part : parts_of(transfer))
          cut(behind(place, part.offset), bytes_of(part.tensor));
      }
    }
    for (graph::TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      if (graph::is_persistent(graph_.tensor(tensor).role))
        cut(program_.step_start[as_index(tensor)], bytes_of(tensor));
    }
  }

  // What the plan's order of ops and transfers, one after the other, makes everybody find.
  void begin_step() {
    compute_next_.assign(compute_lanes_.size(), 0);
    lane_next_.assign(program_.lanes.size(), 0);
    ops_.assign(program_.compute.size(), {});
    transfers_.assign(program_.transfers.size(), {});
    std::size_t issued = 0;
    for (graph::OpIndex index = 0; index < graph_.op_count(); ++index) {
      for (; issued < transfers_.size() && program_.transfers[issued].after_op < index; ++issued) issue(issued);
      OpState& state = ops_[as_index(index)];
      for (const graph::TensorId input : graph_.op(index).inputs) state.reads.push_back(written_[as_index(input)]);
      for (const graph::TensorId output : graph_.op(index).outputs)
        state.writes.push_back(++written_[as_index(output)]);
    }
    for (; issued < transfers_.size(); ++issued) issue(issued);
  }

  void issue(std::size_t index) {
    transfers_[index] = {Progress::kWaiting, {}, random_.chance(hold_transfers_), random_.chance(hold_transfers_)};
    for (const program::TransferPart& part : parts_of(program_.transfers[index])) {
      transfers_[index].versions.push_back(written_[as_index(part.tensor)]);
    }
  }

  bool finished() const {
    const auto done = [](const auto& state) { return state.progress == Progress::kDone; };
    return std::ranges::all_of(ops_, done) && std::ranges::all_of(transfers_, done);
  }

  bool op_done(graph::OpIndex op) const {
    return op == plan::kStepStart || ops_[as_index(op)].progress == Progress::kDone;
  }
  bool all_done(const auto& instruction) const {
    return std::ranges::all_of(instruction.op_waits, [&](graph::OpIndex op) { return op_done(op); }) &&
           std::ranges::all_of(instruction.waits, [&](program::TransferIndex wait) {
             return transfers_[as_index(wait)].progress == Progress::kDone;
           });
  }

  std::vector<Event> possible_events() const {
    std::vector<Event> events;
    for (std::size_t processor = 0; processor < compute_lanes_.size(); ++processor) {
      if (compute_next_[processor] == compute_lanes_[processor].size()) continue;
      const graph::OpIndex next = compute_lanes_[processor][compute_next_[processor]];
      const bool runs = ops_[as_index(next)].progress == Progress::kRunning;
      if (!runs && !all_done(program_.compute[as_index(next)])) continue;
      events.push_back({.op = next, .starts = !runs, .held = hold_compute_[processor]});
    }
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      if (lane_next_[lane] == program_.lanes[lane].size()) continue;
      const program::TransferIndex next = program_.lanes[lane][lane_next_[lane]];
      const program::TransferInstruction& transfer = program_.transfers[as_index(next)];
      if (!op_done(transfer.after_op) || !all_done(transfer)) continue;
      events.push_back({.transfer = next, .starts = true, .held = transfers_[as_index(next)].hold_start});
    }
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (transfers_[i].progress != Progress::kRunning) continue;
      events.push_back({.transfer = as_id<program::TransferIndex>(i), .held = transfers_[i].hold_finish});
    }
    return events;
  }

  void happen(const Event& event) {
    if (event.op >= 0) return event.starts ? start_op(event.op) : finish_op(event.op);
    return event.starts ? start_transfer(event.transfer) : finish_transfer(event.transfer);
  }

  void start_op(graph::OpIndex index) {
    ops_[as_index(index)].progress = Progress::kRunning;
    read_inputs(index);
    const graph::Op& op = graph_.op(index);
    const auto& operands = program_.compute[as_index(index)].operands;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      mark(op.outputs[i], operands[op.inputs.size() + i], op_writer(index));
    }
  }

  void finish_op(graph::OpIndex index) {
    const graph::Op& op = graph_.op(index);
    const auto& operands = program_.compute[as_index(index)].operands;
    read_inputs(index);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const program::Location& place = operands[op.inputs.size() + i];
      expect_marked(op.outputs[i], place, op_writer(index));
      fill(op.outputs[i], place, ops_[as_index(index)].writes[i]);
    }
    ops_[as_index(index)].progress = Progress::kDone;
    ++compute_next_[as_index(program_.compute[as_index(index)].processor)];
  }

  // Inputs that the op updates in place are its own from the start on.
  void read_inputs(graph::OpIndex index) {
    const graph::Op& op = graph_.op(index);
    const auto& operands = program_.compute[as_index(index)].operands;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool updated = std::find(op.outputs.begin(), op.outputs.end(), op.inputs[i]) != op.outputs.end();
      if (updated && first_cell(operands[i]) == being_written(op_writer(index), 0)) continue;
      expect(op.inputs[i], operands[i], ops_[as_index(index)].reads[i], fmt::format("op {}", index));
    }
  }

  void start_transfer(program::TransferIndex index) {
    const program::TransferInstruction& transfer = program_.transfers[as_index(index)];
    transfers_[as_index(index)].progress = Progress::kRunning;
    ++lane_next_[as_index(transfer.link)];
    expect_parts(index, fmt::format("transfer {}", index));
    for_cells(transfer.to, transfer.bytes, [&](Label& cell, Bytes part) { cell = being_written(index, part); });
  }

  void finish_transfer(program::TransferIndex index) {
    const program::TransferInstruction& transfer = program_.transfers[as_index(index)];
    expect_parts(index, fmt::format("running transfer {}", index));
    for_cells(transfer.to, transfer.bytes, [&](Label& cell, Bytes part) {
      check(cell, being_written(index, part), transfer.to, "the writer");
      cell = {};  // what lies between and behind the parts
    });
    const std::vector<program::TransferPart> parts = parts_of(transfer);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [tensor, offset] = parts[i];
      fill(tensor, behind(transfer.to, offset), transfers_[as_index(index)].versions[i],
           encodes(transfer) && transfer.encoded >= 0);
    }
    transfers_[as_index(index)].progress = Progress::kDone;
  }

  static std::int64_t op_writer(graph::OpIndex op) { return -1 - std::int64_t{op}; }
  static Label being_written(std::int64_t writer, Bytes part) { return {kBeingWritten, writer, part}; }
  const Label& first_cell(const program::Location& place) const {
    return cells_[as_index(place.tier)].at(memory_of(place, plan::kOperandAlignment).front().begin);
  }
  std::vector<Interval<Bytes>> memory_of(const program::Location& place, Bytes bytes) const {
    const Interval<Bytes> addresses{place.offset, place.offset + bytes};
    if (place.tier != memory::kFastTier) return {addresses};
    return memory::memory_behind(program_.stitches, addresses);
  }

  // The tensor's cells at a place, each with its distance from the place's offset.
  template <typename Visit>
  void for_cells(const program::Location& place, Bytes bytes, const Visit& visit) {
    std::map<Bytes, Label>& cells = cells_[as_index(place.tier)];
    Bytes distance = 0;
    for (const Interval<Bytes>& memory : memory_of(place, bytes)) {
      for (auto cell = cells.lower_bound(memory.begin); cell != cells.end() && cell->first < memory.end; ++cell) {
        visit(cell->second, distance + cell->first - memory.begin);
      }
      distance += memory.length();
    }
  }
  Bytes bytes_of(graph::TensorId tensor) const {
    return align_up(graph_.tensor(tensor).bytes, plan::kOperandAlignment);
  }

  static bool encodes(const program::TransferInstruction& transfer) { return transfer.from.tier == memory::kFastTier; }

  void fill(graph::TensorId tensor, const program::Location& place, std::int64_t version, bool encoded = false) {
    for_cells(place, bytes_of(tensor), [&](Label& cell, Bytes part) { cell = {tensor, version, part, encoded}; });
  }
  void mark(graph::TensorId tensor, const program::Location& place, std::int64_t writer) {
    for_cells(place, bytes_of(tensor), [&](Label& cell, Bytes part) { cell = being_written(writer, part); });
  }
  static std::vector<program::TransferPart> parts_of(const program::TransferInstruction& transfer) {
    std::vector<program::TransferPart> parts{{transfer.tensor, 0}};
    parts.insert(parts.end(), transfer.others.begin(), transfer.others.end());
    return parts;
  }
  static program::Location behind(const program::Location& place, Bytes distance) {
    return {place.tier, place.offset + distance};
  }

  void expect_parts(program::TransferIndex index, const std::string& who) {
    const program::TransferInstruction& transfer = program_.transfers[as_index(index)];
    const std::vector<program::TransferPart> parts = parts_of(transfer);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [tensor, offset] = parts[i];
      expect(tensor, behind(transfer.from, offset), transfers_[as_index(index)].versions[i], who,
             !encodes(transfer) && transfer.encoded >= 0);
    }
  }

  void expect(graph::TensorId tensor, const program::Location& place, std::int64_t version, const std::string& who,
              bool encoded = false) {
    for_cells(place, bytes_of(tensor), [&](const Label& cell, Bytes part) {
      check(cell, {tensor, version, part, encoded}, place, who);
    });
  }
  void expect_marked(graph::TensorId tensor, const program::Location& place, std::int64_t writer) {
    for_cells(place, bytes_of(tensor),
              [&](const Label& cell, Bytes part) { check(cell, being_written(writer, part), place, "the writer"); });
  }
  void check(const Label& found, const Label& expected, const program::Location& place, const std::string& who) {
    if (found == expected || wrong_) return;
    wrong_ = fmt::format("{} expects tensor {} version {} byte {} in tier {} behind offset {}, and finds {}, {}, {}",
                         who, expected.tensor, expected.version, expected.part, place.tier, place.offset, found.tensor,
                         found.version, found.part);
  }

  const graph::Graph& graph_;
  const program::Program& program_;
  const std::vector<std::vector<graph::OpIndex>> compute_lanes_;
  SeededRandom random_;
  std::vector<std::int64_t> written_;          // by TensorId: writes up to the end of the running step
  std::vector<std::map<Bytes, Label>> cells_;  // by TierId, then by first byte
  double hold_transfers_ = 0;
  std::vector<bool> hold_compute_;         // by ProcessorId
  std::vector<std::size_t> compute_next_;  // by ProcessorId: place in its lane
  std::vector<OpState> ops_;               // by OpIndex
  std::vector<std::size_t> lane_next_;     // by LinkId
  std::vector<TransferState> transfers_;   // by TransferIndex
  std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> find_race(const graph::Graph& graph, const program::Program& program, std::uint64_t seed,
                                     int steps) {
  AdversarialRun run(graph, program, seed);
  for (int step = 0; step < steps; ++step) {
    if (auto wrong = run.run_step()) return fmt::format("step {}: {}", step, *wrong);
  }
  return std::nullopt;
}

PlanTrial try_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan) {
  PlanTrial trial{.accepted = plan::verify_plan(graph, machine, plan).empty(), .race = std::nullopt};
  if (!trial.accepted) return trial;
  const program::Program program = program::lower_plan(graph, machine, plan).value();
  const plan::PlanGraph step(graph, plan);
  for (std::uint64_t order = 0; order < 10 && !trial.race; ++order) {
    trial.race = find_race(step.graph(), program, order);
  }
  return trial;
}

}  // namespace sluice::testing

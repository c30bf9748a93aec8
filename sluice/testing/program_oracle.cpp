#include "sluice/testing/program_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/seeded_random.hpp"

namespace sluice::testing {
namespace {

constexpr TensorId kNobody = -1;
constexpr TensorId kBeingWritten = -2;  // `version` says by whom

struct Label {
  TensorId tensor = kNobody;
  std::int64_t version = 0;
  Bytes part = 0;  // from which byte of the tensor on
  Encoding encoding = Encoding::kNone;
  bool operator==(const Label&) const = default;
};

enum class Progress { kWaiting, kRunning, kDone };

class AdversarialRun {
 public:
  AdversarialRun(const Graph& graph, const Program& program, std::uint64_t seed)
      : graph_(graph), program_(program), random_(seed), written_(graph.tensors().size(), 0) {
    cells_.resize(program.arena_bytes.size());
    cut_into_cells();
    for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
      if (is_persistent(graph.tensor(tensor).role)) fill(tensor, program.step_start[as_index(tensor)], 0);
    }
    hold_transfers_ = random_.pick(std::vector<double>{0, 0.2, 0.6, 1});
    hold_compute_ = random_.chance(0.3);
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
    for (TensorId tensor = 0; tensor < graph_.tensor_count() && !wrong_; ++tensor) {
      const Role role = graph_.tensor(tensor).role;
      if (!is_persistent(role) && role != Role::kOutput) continue;
      expect(tensor, program_.step_start[as_index(tensor)], written_[as_index(tensor)], "after the step, the caller");
    }
    return wrong_;
  }

 private:
  struct Event {
    TransferIndex transfer = -1;  // -1: the next op
    bool starts = false;
    bool held = false;
  };
  struct TransferState {
    Progress progress = Progress::kWaiting;
    std::vector<std::int64_t> versions;  // that it must find, by part
    bool hold_start = false, hold_finish = false;
  };

  // A cell begins wherever something that the program touches begins or ends.
  void cut_into_cells() {
    const auto cut = [&](const Location& place, Bytes bytes) {
      cells_[as_index(place.tier)][place.offset];
      cells_[as_index(place.tier)][place.offset + bytes];
    };
    for (const ComputeInstruction& instruction : program_.compute) {
      std::vector<TensorId> operands = graph_.op(instruction.op).inputs;
      operands.insert(operands.end(), graph_.op(instruction.op).outputs.begin(),
                      graph_.op(instruction.op).outputs.end());
      for (std::size_t i = 0; i < operands.size(); ++i) cut(instruction.operands[i], bytes_of(operands[i]));
    }
    for (const TransferInstruction& transfer : program_.transfers) {
      for (const Location& place : {transfer.from, transfer.to}) {
        cut(place, transfer.bytes);
        for (const TransferPart& part : parts_of(transfer)) cut(behind(place, part.offset), bytes_of(part.tensor));
      }
    }
    for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      if (is_persistent(graph_.tensor(tensor).role)) cut(program_.step_start[as_index(tensor)], bytes_of(tensor));
    }
  }

  void begin_step() {
    next_op_ = 0;
    op_running_ = false;
    lane_next_.assign(program_.lanes.size(), 0);
    transfers_.assign(program_.transfers.size(), {});
    std::vector<std::int64_t> versions = written_;
    std::size_t issued = 0;
    const auto issue_before = [&](OpIndex op) {
      for (; issued < transfers_.size() && program_.transfers[issued].after_op < op; ++issued) {
        transfers_[issued] = {Progress::kWaiting, {}, random_.chance(hold_transfers_), random_.chance(hold_transfers_)};
        for (const TransferPart& part : parts_of(program_.transfers[issued])) {
          transfers_[issued].versions.push_back(versions[as_index(part.tensor)]);
        }
      }
    };
    for (const Op& op : graph_.ops()) {
      issue_before(static_cast<OpIndex>(&op - graph_.ops().data()));
      for (const TensorId output : op.outputs) ++versions[as_index(output)];
    }
    issue_before(graph_.op_count());
  }

  bool finished() const {
    return next_op_ == graph_.op_count() && std::all_of(transfers_.begin(), transfers_.end(), [](const auto& state) {
             return state.progress == Progress::kDone;
           });
  }

  bool all_done(const std::vector<TransferIndex>& waits) const {
    return std::all_of(waits.begin(), waits.end(),
                       [&](TransferIndex wait) { return transfers_[as_index(wait)].progress == Progress::kDone; });
  }

  std::vector<Event> possible_events() const {
    std::vector<Event> events;
    if (op_running_) {
      events.push_back({-1, false, hold_compute_});
    } else if (next_op_ < graph_.op_count() && all_done(program_.compute[as_index(next_op_)].waits)) {
      events.push_back({-1, true, hold_compute_});
    }
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      if (lane_next_[lane] == program_.lanes[lane].size()) continue;
      const TransferIndex next = program_.lanes[lane][lane_next_[lane]];
      const TransferInstruction& transfer = program_.transfers[as_index(next)];
      const bool issued = transfer.after_op < next_op_;
      if (issued && all_done(transfer.waits)) events.push_back({next, true, transfers_[as_index(next)].hold_start});
    }
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (transfers_[i].progress != Progress::kRunning) continue;
      events.push_back({static_cast<TransferIndex>(i), false, transfers_[i].hold_finish});
    }
    return events;
  }

  void happen(const Event& event) {
    if (event.transfer < 0) return event.starts ? start_op() : finish_op();
    return event.starts ? start_transfer(event.transfer) : finish_transfer(event.transfer);
  }

  void start_op() {
    op_running_ = true;
    read_inputs();
    const Op& op = graph_.op(next_op_);
    const auto& operands = program_.compute[as_index(next_op_)].operands;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      mark(op.outputs[i], operands[op.inputs.size() + i], op_writer());
    }
  }

  void finish_op() {
    const Op& op = graph_.op(next_op_);
    const auto& operands = program_.compute[as_index(next_op_)].operands;
    read_inputs();
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const Location& place = operands[op.inputs.size() + i];
      expect_marked(op.outputs[i], place, op_writer());
      fill(op.outputs[i], place, ++written_[as_index(op.outputs[i])]);
    }
    op_running_ = false;
    ++next_op_;
  }

  // Inputs that the op updates in place are its own from the start on.
  void read_inputs() {
    const Op& op = graph_.op(next_op_);
    const auto& operands = program_.compute[as_index(next_op_)].operands;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool updated = std::find(op.outputs.begin(), op.outputs.end(), op.inputs[i]) != op.outputs.end();
      if (updated && first_cell(operands[i]) == being_written(op_writer(), 0)) continue;
      expect(op.inputs[i], operands[i], written_[as_index(op.inputs[i])], fmt::format("op {}", next_op_));
    }
  }

  void start_transfer(TransferIndex index) {
    const TransferInstruction& transfer = program_.transfers[as_index(index)];
    transfers_[as_index(index)].progress = Progress::kRunning;
    ++lane_next_[as_index(transfer.link)];
    expect_parts(index, fmt::format("transfer {}", index));
    for_cells(transfer.to, transfer.bytes, [&](Label& cell, Bytes part) { cell = being_written(index, part); });
  }

  void finish_transfer(TransferIndex index) {
    const TransferInstruction& transfer = program_.transfers[as_index(index)];
    expect_parts(index, fmt::format("running transfer {}", index));
    for_cells(transfer.to, transfer.bytes, [&](Label& cell, Bytes part) {
      check(cell, being_written(index, part), transfer.to, "the writer");
      cell = {};  // what lies between and behind the parts
    });
    const std::vector<TransferPart> parts = parts_of(transfer);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [tensor, offset] = parts[i];
      fill(tensor, behind(transfer.to, offset), transfers_[as_index(index)].versions[i],
           encodes(transfer) ? transfer.encoding : Encoding::kNone);
    }
    transfers_[as_index(index)].progress = Progress::kDone;
  }

  std::int64_t op_writer() const { return -1 - std::int64_t{next_op_}; }
  static Label being_written(std::int64_t writer, Bytes part) { return {kBeingWritten, writer, part}; }
  const Label& first_cell(const Location& place) const { return cells_[as_index(place.tier)].at(place.offset); }

  // The tensor's cells at a place, each with its distance from the place's offset.
  template <typename Visit>
  void for_cells(const Location& place, Bytes bytes, const Visit& visit) {
    std::map<Bytes, Label>& cells = cells_[as_index(place.tier)];
    for (auto cell = cells.lower_bound(place.offset); cell != cells.end() && cell->first < place.offset + bytes;
         ++cell) {
      visit(cell->second, cell->first - place.offset);
    }
  }
  Bytes bytes_of(TensorId tensor) const { return align_up(graph_.tensor(tensor).bytes, kOperandAlignment); }

  static bool encodes(const TransferInstruction& transfer) { return transfer.from.tier == kFastTier; }

  void fill(TensorId tensor, const Location& place, std::int64_t version, Encoding encoding = Encoding::kNone) {
    for_cells(place, bytes_of(tensor), [&](Label& cell, Bytes part) { cell = {tensor, version, part, encoding}; });
  }
  void mark(TensorId tensor, const Location& place, std::int64_t writer) {
    for_cells(place, bytes_of(tensor), [&](Label& cell, Bytes part) { cell = being_written(writer, part); });
  }
  static std::vector<TransferPart> parts_of(const TransferInstruction& transfer) {
    std::vector<TransferPart> parts{{transfer.tensor, 0}};
    parts.insert(parts.end(), transfer.others.begin(), transfer.others.end());
    return parts;
  }
  static Location behind(const Location& place, Bytes distance) { return {place.tier, place.offset + distance}; }

  void expect_parts(TransferIndex index, const std::string& who) {
    const TransferInstruction& transfer = program_.transfers[as_index(index)];
    const std::vector<TransferPart> parts = parts_of(transfer);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [tensor, offset] = parts[i];
      expect(tensor, behind(transfer.from, offset), transfers_[as_index(index)].versions[i], who,
             encodes(transfer) ? Encoding::kNone : transfer.encoding);
    }
  }

  void expect(TensorId tensor, const Location& place, std::int64_t version, const std::string& who,
              Encoding encoding = Encoding::kNone) {
    for_cells(place, bytes_of(tensor), [&](const Label& cell, Bytes part) {
      check(cell, {tensor, version, part, encoding}, place, who);
    });
  }
  void expect_marked(TensorId tensor, const Location& place, std::int64_t writer) {
    for_cells(place, bytes_of(tensor),
              [&](const Label& cell, Bytes part) { check(cell, being_written(writer, part), place, "the writer"); });
  }
  void check(const Label& found, const Label& expected, const Location& place, const std::string& who) {
    if (found == expected || wrong_) return;
    wrong_ = fmt::format("{} expects tensor {} version {} byte {} in tier {} behind offset {}, and finds {}, {}, {}",
                         who, expected.tensor, expected.version, expected.part, place.tier, place.offset, found.tensor,
                         found.version, found.part);
  }

  const Graph& graph_;
  const Program& program_;
  SeededRandom random_;
  std::vector<std::int64_t> written_;          // by TensorId: writes so far, over all steps
  std::vector<std::map<Bytes, Label>> cells_;  // by TierId, then by first byte
  double hold_transfers_ = 0;
  bool hold_compute_ = false;
  OpIndex next_op_ = 0;
  bool op_running_ = false;
  std::vector<std::size_t> lane_next_;    // by LinkId
  std::vector<TransferState> transfers_;  // by TransferIndex
  std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> find_race(const Graph& graph, const Program& program, std::uint64_t seed, int steps) {
  AdversarialRun run(graph, program, seed);
  for (int step = 0; step < steps; ++step) {
    if (auto wrong = run.run_step()) return fmt::format("step {}: {}", step, *wrong);
  }
  return std::nullopt;
}

PlanTrial try_plan(const Graph& graph, const Machine& machine, const Plan& plan) {
  PlanTrial trial{.accepted = verify_plan(graph, machine, plan).empty(), .race = std::nullopt};
  if (!trial.accepted) return trial;
  const Program program = lower_plan(graph, machine, plan).value();
  for (std::uint64_t order = 0; order < 10 && !trial.race; ++order) trial.race = find_race(graph, program, order);
  return trial;
}

}  // namespace sluice::testing

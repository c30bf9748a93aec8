#include "sluice/testing/program_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/testing/seeded_random.hpp"

namespace sluice::testing {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

constexpr TensorId kNobody = -1;
constexpr TensorId kBeingWritten = -2;  // `version` says by whom

struct Label {
  TensorId tensor = kNobody;
  std::int64_t version = 0;
  Bytes page = 0;
  bool operator==(const Label&) const = default;
};

enum class Progress { kWaiting, kRunning, kDone };

class AdversarialRun {
 public:
  AdversarialRun(const Graph& graph, const Program& program, std::uint64_t seed)
      : graph_(graph), program_(program), random_(seed), written_(graph.tensors().size(), 0) {
    for (const Bytes bytes : program.arena_bytes) pages_.emplace_back(at(bytes / kTensorAlignment));
    for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
      if (is_persistent(graph.tensor(tensor).role)) fill(tensor, program.step_start[at(tensor)], 0);
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
      expect(tensor, program_.step_start[at(tensor)], written_[at(tensor)], "after the step, the caller");
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
    std::int64_t version = 0;  // that it must find
    bool hold_start = false, hold_finish = false;
  };

  void begin_step() {
    next_op_ = 0;
    op_running_ = false;
    lane_next_.assign(program_.lanes.size(), 0);
    transfers_.assign(program_.transfers.size(), {});
    std::vector<std::int64_t> versions = written_;
    std::size_t issued = 0;
    const auto issue_before = [&](OpIndex op) {
      for (; issued < transfers_.size() && program_.transfers[issued].after_op < op; ++issued) {
        transfers_[issued] = {Progress::kWaiting, versions[at(program_.transfers[issued].tensor)],
                              random_.chance(hold_transfers_), random_.chance(hold_transfers_)};
      }
    };
    for (const Op& op : graph_.ops()) {
      issue_before(static_cast<OpIndex>(&op - graph_.ops().data()));
      for (const TensorId output : op.outputs) ++versions[at(output)];
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
                       [&](TransferIndex wait) { return transfers_[at(wait)].progress == Progress::kDone; });
  }

  std::vector<Event> possible_events() const {
    std::vector<Event> events;
    if (op_running_) {
      events.push_back({-1, false, hold_compute_});
    } else if (next_op_ < graph_.op_count() && all_done(program_.compute[at(next_op_)].waits)) {
      events.push_back({-1, true, hold_compute_});
    }
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      if (lane_next_[lane] == program_.lanes[lane].size()) continue;
      const TransferIndex next = program_.lanes[lane][lane_next_[lane]];
      const TransferInstruction& transfer = program_.transfers[at(next)];
      const bool issued = transfer.after_op < next_op_;
      if (issued && all_done(transfer.waits)) events.push_back({next, true, transfers_[at(next)].hold_start});
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
    const auto& operands = program_.compute[at(next_op_)].operands;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      mark(op.outputs[i], operands[op.inputs.size() + i], op_writer());
    }
  }

  void finish_op() {
    const Op& op = graph_.op(next_op_);
    const auto& operands = program_.compute[at(next_op_)].operands;
    read_inputs();
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const Location& place = operands[op.inputs.size() + i];
      expect_marked(op.outputs[i], place, op_writer());
      fill(op.outputs[i], place, ++written_[at(op.outputs[i])]);
    }
    op_running_ = false;
    ++next_op_;
  }

  // Inputs that the op updates in place are its own from the start on.
  void read_inputs() {
    const Op& op = graph_.op(next_op_);
    const auto& operands = program_.compute[at(next_op_)].operands;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool updated = std::find(op.outputs.begin(), op.outputs.end(), op.inputs[i]) != op.outputs.end();
      if (updated && page(operands[i], 0) == being_written(op_writer(), 0)) continue;
      expect(op.inputs[i], operands[i], written_[at(op.inputs[i])], fmt::format("op {}", next_op_));
    }
  }

  void start_transfer(TransferIndex index) {
    const TransferInstruction& transfer = program_.transfers[at(index)];
    transfers_[at(index)].progress = Progress::kRunning;
    ++lane_next_[at(transfer.link)];
    expect(transfer.tensor, transfer.from, transfers_[at(index)].version, fmt::format("transfer {}", index));
    mark(transfer.tensor, transfer.to, index);
  }

  void finish_transfer(TransferIndex index) {
    const TransferInstruction& transfer = program_.transfers[at(index)];
    expect(transfer.tensor, transfer.from, transfers_[at(index)].version, fmt::format("running transfer {}", index));
    expect_marked(transfer.tensor, transfer.to, index);
    fill(transfer.tensor, transfer.to, transfers_[at(index)].version);
    transfers_[at(index)].progress = Progress::kDone;
  }

  std::int64_t op_writer() const { return -1 - std::int64_t{next_op_}; }
  static Label being_written(std::int64_t writer, Bytes number) { return {kBeingWritten, writer, number}; }
  Bytes page_count(TensorId tensor) const {
    return align_up(graph_.tensor(tensor).bytes, kTensorAlignment) / kTensorAlignment;
  }
  Label& page(const Location& place, Bytes number) {
    return pages_[at(place.tier)].at(at(place.offset / kTensorAlignment + number));
  }

  void fill(TensorId tensor, const Location& place, std::int64_t version) {
    for (Bytes i = 0; i < page_count(tensor); ++i) page(place, i) = {tensor, version, i};
  }
  void mark(TensorId tensor, const Location& place, std::int64_t writer) {
    for (Bytes i = 0; i < page_count(tensor); ++i) page(place, i) = being_written(writer, i);
  }

  void expect(TensorId tensor, const Location& place, std::int64_t version, const std::string& who) {
    for (Bytes i = 0; i < page_count(tensor); ++i) check(page(place, i), {tensor, version, i}, place, who);
  }
  void expect_marked(TensorId tensor, const Location& place, std::int64_t writer) {
    for (Bytes i = 0; i < page_count(tensor); ++i) {
      check(page(place, i), being_written(writer, i), place, "the writer");
    }
  }
  void check(const Label& found, const Label& expected, const Location& place, const std::string& who) {
    if (found == expected || wrong_) return;
    wrong_ = fmt::format("{} expects tensor {} version {} page {} in tier {} behind offset {}, and finds {}, {}, {}",
                         who, expected.tensor, expected.version, expected.page, place.tier, place.offset, found.tensor,
                         found.version, found.page);
  }

  const Graph& graph_;
  const Program& program_;
  SeededRandom random_;
  std::vector<std::int64_t> written_;      // by TensorId: writes so far, over all steps
  std::vector<std::vector<Label>> pages_;  // by TierId
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

}  // namespace sluice::testing

#include "sluice/policies/dtr/dtr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/dtr/evicted_classes.hpp"
#include "sluice/policies/dtr/value_places.hpp"

namespace sluice::policies {
namespace {

class RunningStep {
 public:
  RunningStep(const StepValues& step, const std::vector<std::optional<Bytes>>& persistent, Interval<Bytes> room,
              DtrDriver& driver)
      : step_(step),
        persistent_(persistent),
        room_(room),
        driver_(driver),
        places_(step.values, room),
        classes_(step.values.size()),
        costs_(step.values.size(), 0),
        last_used_(step.values.size(), 0) {
    for (ValueId id = 0; id < as_id<ValueId>(step.values.size()); ++id) {
      if (value(id).maker == graph::kBeforeTheStep) places_.put(id, *persistent[as_index(value(id).tensor)]);
    }
  }

  Result<DtrStep> run() {
    for (op_ = 0; op_ < as_id<graph::OpIndex>(step_.first.size()); ++op_) {
      SLUICE_RETURN_IF_ERROR(run_op(step_.first[as_index(op_)], Form::kFirst));
      let_go();
    }
    done_.most_bytes = room_.begin + places_.most_used();
    return done_;
  }

  const ValuePlaces& places() const { return places_; }

 private:
  enum class Form { kFirst, kAgain };

  const StepValue& value(ValueId id) const { return step_.values[as_index(id)]; }

  std::array<std::span<const ValueId>, 2> neighbours(ValueId id) const {
    return {step_.made_of[as_index(id)], step_.makes[as_index(id)]};
  }

  // What it reads is at hand and locked, what it makes has room and is locked; then the op itself.
  Status run_op(const OpRun& run, Form form) {
    SLUICE_RETURN_IF_ERROR(bring(run.inputs));
    SLUICE_ASSIGN(const std::vector<ValueId> made_in, find_room(run));
    std::vector<Bytes> operands;
    for (const auto* values : {&run.inputs, &made_in}) {
      for (const ValueId id : *values) operands.push_back(places_.offset(id));
    }
    SLUICE_ASSIGN(const Seconds seconds, driver_.run(run.slot, operands));
    spend(seconds, form);
    for (const ValueId input : run.inputs) {
      last_used_[as_index(input)] = clock_;
      places_.unlock(input);
    }
    for (std::size_t i = 0; i < run.outputs.size(); ++i) settle(run.outputs[i], made_in[i], seconds, form);
    return {};
  }

  // In the order in which they were made first: what is made of much is missed before the rest is held for it.
  Status bring(std::vector<ValueId> inputs) {
    std::ranges::sort(inputs);
    for (const ValueId input : inputs) {
      if (!places_.resident(input)) SLUICE_RETURN_IF_ERROR(rematerialize(input));
      places_.lock(input);
    }
    return {};
  }

  void spend(Seconds seconds, Form form) {
    clock_ += seconds;
    (form == Form::kFirst ? done_.computation : done_.recomputation) += seconds;
  }

  Status rematerialize(ValueId id) {
    SLUICE_CHECK(value(id).evictable, "only what can be made again is evicted");
    if (++done_.runs_again > kMostRunsAgain * std::ssize(step_.first)) return too_much_again();
    return run_op(step_.again[as_index(value(id).maker)], Form::kAgain);
  }

  // By output: the value in whose place it is made, itself or the input that it overwrites. Nobody who waits holds that
  // input: it would be an op before this one, and so would all be that it waits for.
  Result<std::vector<ValueId>> find_room(const OpRun& run) {
    std::vector<ValueId> made_in = run.outputs;
    for (const ValueId id : run.outputs) {
      if (places_.resident(id)) places_.lock(id);  // it is made with the bits that it has
    }
    for (const std::size_t i : largest_first(run.outputs)) {
      const ValueId id = run.outputs[i];
      if (places_.resident(id)) continue;
      if (const std::optional<ValueId> overwritten = overwritten_by(run, id)) {
        SLUICE_CHECK(places_.locks(*overwritten) == std::ranges::count(run.inputs, *overwritten),
                     "what is overwritten is held by the op alone");
        made_in[i] = *overwritten;
      } else {
        SLUICE_RETURN_IF_ERROR(allocate(id));
      }
    }
    empty_.clear();
    return made_in;
  }

  std::optional<ValueId> overwritten_by(const OpRun& run, ValueId output) const {
    for (const ValueId input : run.inputs) {
      if (value(input).tensor == value(output).tensor) return input;
    }
    return std::nullopt;
  }

  // Positions. The largest needs the largest hole, before the others lie in it.
  std::vector<std::size_t> largest_first(const std::vector<ValueId>& ids) const {
    std::vector<std::size_t> order(ids.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return value(ids[i]).bytes; });
    return order;
  }

  void settle(ValueId id, ValueId made_in, Seconds seconds, Form form) {
    costs_[as_index(id)] = seconds;
    last_used_[as_index(id)] = clock_;
    if (made_in != id) {
      places_.put(id, places_.leave(made_in));
      join_evicted(made_in);
    } else {
      places_.unlock(id);
    }
    if (classes_.holds(id)) classes_.remove(id);
    if (form == Form::kAgain && value(id).needed_until < op_) places_.remove(id);
  }

  // Puts the value somewhere and locks it.
  Status allocate(ValueId id) {
    std::optional<Bytes> offset;
    if (value(id).persistent) offset = persistent_[as_index(value(id).tensor)];
    while (!offset) {
      offset = places_.allocate(id);
      if (offset) break;
      if (const std::optional<ValueId> victim = least_worth_keeping()) {
        ++done_.evictions;
        done_.evicted_bytes += value(*victim).bytes;
        evict(*victim);
      } else if (places_.has_bytes_for(id)) {
        move_together();
      } else {
        return no_room(id);
      }
    }
    places_.put(id, *offset);
    places_.lock(id);
    empty_.push_back(id);
    return {};
  }

  void move_together() {
    const auto move = [&](ValueId id, Bytes from, Bytes to) {
      if (std::ranges::find(empty_, id) != empty_.end()) return;
      spend(driver_.move(from, to, value(id).bytes), Form::kAgain);
      done_.moved_bytes += value(id).bytes;
    };
    places_.move_together(move);
  }

  // The paper's h, smallest first; of equals the value made first.
  std::optional<ValueId> least_worth_keeping() {
    std::optional<ValueId> least;
    double least_h = std::numeric_limits<double>::infinity();
    for (const ValueId id : places_.evictable()) {
      if (places_.locks(id) > 0) continue;
      const double h = worth_keeping(id);
      if (least && (h > least_h || (h == least_h && id > *least))) continue;
      least = id;
      least_h = h;
    }
    return least;
  }

  double worth_keeping(ValueId id) {
    const Seconds cost = costs_[as_index(id)] + classes_.cost_around(neighbours(id));
    const double stale_bytes = static_cast<double>(value(id).bytes) * (clock_ - last_used_[as_index(id)]);
    return stale_bytes > 0 ? cost / stale_bytes : std::numeric_limits<double>::infinity();
  }

  void evict(ValueId id) {
    places_.remove(id);
    join_evicted(id);
  }

  void join_evicted(ValueId id) {
    if (!value(id).evictable) return;
    classes_.add(id, costs_[as_index(id)], neighbours(id));
    driver_.evicted(id);
  }

  // Behind an op: what nobody needs any more goes for good, and what no op of the step reads any more is evicted.
  void let_go() {
    for (const ValueId id : step_.last_needed[as_index(op_)]) {
      if (classes_.holds(id)) classes_.remove(id);
      if (places_.resident(id)) places_.remove(id);
    }
    for (const auto* operands : {&step_.first[as_index(op_)].inputs, &step_.first[as_index(op_)].outputs}) {
      for (const ValueId id : *operands) {
        if (value(id).evictable && value(id).last_use == op_ && places_.resident(id)) evict(id);
      }
    }
  }

  Error no_room(ValueId id) const {
    const Bytes held = places_.used();
    return {ErrorCode::kNoneFound,
            fmt::format("dtr has no room for {} ({}) at op {} ({} of {}), and nothing else can go: of a budget of {}, "
                        "parameters and what is like them take {}, values in use or that cannot be made again {}, and "
                        "the {} that are free lie in pieces of {} at most; raise --fast",
                        tensor_name(id), format_bytes(value(id).bytes), op_name(), op_, step_.first.size(),
                        format_bytes(room_.end), format_bytes(room_.begin), format_bytes(held),
                        format_bytes(places_.free()), format_bytes(places_.largest_hole())),
            value(id).bytes, places_.largest_hole()};
  }

  Error too_much_again() const {
    return {
        ErrorCode::kNoneFound,
        fmt::format("dtr gives up at op {} ({} of {}): it has run ops {} times again, {} for each op of the step, "
                    "in a budget of {}, where each makes others go; raise --fast",
                    op_name(), op_, step_.first.size(), done_.runs_again - 1, kMostRunsAgain, format_bytes(room_.end))};
  }

  const std::string& op_name() const { return step_.kernels.graph.op(op_).name; }
  const std::string& tensor_name(ValueId id) const { return step_.kernels.graph.tensor(value(id).tensor).name; }

  const StepValues& step_;
  const std::vector<std::optional<Bytes>>& persistent_;  // by tensor
  Interval<Bytes> room_;
  DtrDriver& driver_;
  ValuePlaces places_;
  EvictedClasses classes_;
  std::vector<Seconds> costs_;      // by value: of its op's last run
  std::vector<Seconds> last_used_;  // by value, on the clock
  std::vector<ValueId> empty_;      // rooms of the next op's outputs, which hold nothing yet
  Seconds clock_ = 0;
  graph::OpIndex op_ = 0;  // of the step, that runs or waits
  DtrStep done_;
};

}  // namespace

std::vector<std::pair<std::string, double>> figures_of(const DtrStep& step) {
  return {{"evictions", static_cast<double>(step.evictions)}, {"ops made again", static_cast<double>(step.runs_again)}};
}

Result<Dtr> Dtr::create(const graph::Graph& step, Bytes budget) {
  Dtr dtr(find_step_values(step), align_down(budget, memory::BestFitHeap::kUnit));
  dtr.offsets_.resize(dtr.kernels().graph.tensors().size());
  for (graph::TensorId tensor = 0; tensor < step.tensor_count(); ++tensor) {
    if (!graph::is_persistent(step.tensor(tensor).role)) continue;
    dtr.offsets_[as_index(tensor)] = dtr.persistent_bytes_;
    dtr.persistent_bytes_ += align_up(step.tensor(tensor).bytes, memory::BestFitHeap::kUnit);
  }
  if (dtr.persistent_bytes_ < dtr.budget_) return dtr;
  return Error{ErrorCode::kInfeasible,
               fmt::format("dtr keeps parameters and what is like them in memory: these take {}, and the budget is {}; "
                           "raise --fast",
                           format_bytes(dtr.persistent_bytes_), format_bytes(budget)),
               dtr.persistent_bytes_, budget};
}

Result<DtrStep> Dtr::run_step(DtrDriver& driver) {
  const auto is_result = [&](const StepValue& value) {
    return !value.persistent && value.last_use == as_id<graph::OpIndex>(values_.first.size());
  };
  for (const StepValue& value : values_.values) {
    if (is_result(value)) offsets_[as_index(value.tensor)].reset();
  }
  RunningStep running(values_, offsets_, {persistent_bytes_, budget_}, driver);
  SLUICE_ASSIGN(const DtrStep done, running.run());
  for (ValueId id = 0; id < as_id<ValueId>(values_.values.size()); ++id) {
    const StepValue& value = values_.values[as_index(id)];
    if (is_result(value)) offsets_[as_index(value.tensor)] = running.places().offset(id);
  }
  return done;
}

}  // namespace sluice::policies

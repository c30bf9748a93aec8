#include "sluice/plan/verify/any_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/plan/verify/any_order_certificate.hpp"

namespace sluice::plan {
namespace {

constexpr Bytes kBytes = 100 * kMiB;

// Two layers: a and b are made, then d of b; the weights' gradients g2 (of a, d) and g1 (of e) update w2 and w1 when
// they like; e needs d. `b2` is b once more.
//
//   0 make a   1 b = f(a, w2)   2 d = loss(b)   3 b2 = f(a, w2) again   4 g2 = grad(a, d)   5 update w2, g2
//   6 e = back(d, b2)   7 g1 = grad(e)   8 update w1, g1
class TwoLayers : public ::testing::Test {
 protected:
  TwoLayers() {
    w1_ = add("w1", graph::Role::kParameter), w2_ = add("w2", graph::Role::kParameter);
    a_ = add("a"), b_ = add("b"), d_ = add("d"), again_ = add("b2"), g2_ = add("g2"), e_ = add("e"), g1_ = add("g1");
    op("make a", {}, {a_});
    op("b", {a_, w2_}, {b_});
    op("loss", {b_}, {d_});
    op("b again", {a_, w2_}, {again_});
    op("grad w2", {a_, d_}, {g2_});
    op("update w2", {w2_, g2_}, {w2_}, graph::OpKind::kSgdUpdate);
    op("back", {d_, again_}, {e_});
    op("grad w1", {e_}, {g1_});
    op("update w1", {w1_, g1_}, {w1_}, graph::OpKind::kSgdUpdate);
  }

  graph::TensorId add(const char* name, graph::Role role = graph::Role::kActivation) {
    return graph_.add_tensor({.name = name, .shape = {kBytes / 4}, .role = role});
  }

  void op(const char* name, std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs,
          graph::OpKind kind = graph::OpKind::kRelu) {
    graph_.add_op({.name = name, .kind = kind, .inputs = std::move(inputs), .outputs = std::move(outputs)});
  }

  const Life& life_of(graph::TensorId id) const { return *std::ranges::find(order_.lives, id, &Life::tensor); }

  // What is proved where a tensor pays `room` for being there as the loss begins, and these seconds for coming and going.
  Seconds proved(Seconds room, Seconds in = 0, Seconds out = 0) {
    const StepPrices prices{
        {0, 0, 0, room / kBytes, 0, 0, 0}, std::vector<SlotPrice>(7, {0, 0}), std::vector<SlotPrice>(8, {0.5, 0.5})};
    const TwoWayLink link{.in = {1, 0}, .out = {0, 1}, .in_lost = in / kBytes, .out_lost = out / kBytes};
    return certified_any_order_seconds({graph_, seconds_, link, 0}, order_, prices).value();
  }

  graph::Graph graph_;
  graph::TensorId w1_, w2_, a_, b_, d_, again_, g2_, e_, g1_;
  std::vector<Seconds> seconds_{1, 4, 1, 3, 2, 0.5, 1, 2, 0.5};
  AnyOrder order_;
};

TEST_F(TwoLayers, TheChainIsWhatEveryOrderRunsOneAfterTheOther) {
  order_ = find_any_order(graph_, seconds_);
  std::vector<graph::OpIndex> chain;
  for (const ChainOp& each : order_.chain) chain.push_back(each.op);
  EXPECT_EQ(chain, (std::vector<graph::OpIndex>{0, 1, 2, 6, 7, 8}));
  EXPECT_DOUBLE_EQ(order_.chain[1].seconds, 3) << "b may be made by the op that takes less, first";
  ASSERT_EQ(order_.floating.size(), 2U) << "what only repeats may be left out";
  EXPECT_EQ(order_.floating[0].op, 4);
  EXPECT_EQ(order_.floating[0].first, 3) << "behind the loss";
  EXPECT_EQ(order_.floating[0].last, 6) << "until the step ends";
  EXPECT_EQ(order_.floating[1].op, 5);
}

TEST_F(TwoLayers, ALifeIsWhateverHoldsTheValue) {
  order_ = find_any_order(graph_, seconds_);
  const Life& b = life_of(b_);
  EXPECT_TRUE(b.several);
  ASSERT_EQ(b.uses.size(), 3U);
  EXPECT_EQ(b.uses[0].epoch, 2);
  EXPECT_EQ(b.uses[1].epoch, 3);
  EXPECT_EQ(b.uses[2].epoch, 4) << "read as b2";
  EXPECT_DOUBLE_EQ(b.uses[2].again_seconds, 3);
  const Life& a = life_of(a_);
  EXPECT_EQ(a.needed_later->epoch, 3) << "the gradient may want it at once";
  EXPECT_DOUBLE_EQ(a.needed_later->again_seconds, 1);
  const Life& w2 = life_of(w2_);
  EXPECT_TRUE(w2.needed_later->writes);
  EXPECT_EQ(w2.needed_later->epoch, 3);
  EXPECT_TRUE(life_of(g2_).uses.empty());
  EXPECT_TRUE(std::ranges::none_of(order_.lives, [&](const Life& life) { return life.tensor == again_; }));
}

// Nothing is worth anything: what must be computed once.
TEST_F(TwoLayers, AtNoPricesItIsWhatMustBeComputed) {
  order_ = find_any_order(graph_, seconds_);
  EXPECT_NEAR(proved(0), 1 + 3 + 1 + 2 + 0.5 + 1 + 2 + 0.5, 1e-9);
}

// As the loss begins, b and d are there. a and the weights are wanted later.
TEST_F(TwoLayers, ALifeTakesItsCheapestWay) {
  order_ = find_any_order(graph_, seconds_);
  constexpr Seconds kComputed = 11;
  EXPECT_NEAR(proved(0.1, 0.2, 0.3), kComputed + 5 * 0.1, 1e-9) << "all five stay";
  EXPECT_NEAR(proved(2, 0.2, 0.3), kComputed + 2 * 2 + 3 * 0.5, 1e-9) << "three go and come";
  EXPECT_NEAR(proved(2, 5, 5), kComputed + 4 * 2 + 1, 1e-9) << "a is made again in a second, weights cannot be";
}

TEST_F(TwoLayers, PricesOfAnotherStepProveNothing) {
  order_ = find_any_order(graph_, seconds_);
  const BoundedStep step{graph_, seconds_, {.in = {1e-9, 0}, .out = {0, 1e-9}}, kBytes};
  const StepPrices good{std::vector<double>(7, 0), std::vector<SlotPrice>(7), std::vector<SlotPrice>(8)};
  EXPECT_TRUE(certified_any_order_seconds(step, order_, good).ok());
  for (const int broken : {0, 1, 2, 3}) {
    StepPrices prices = good;
    if (broken == 0) prices.room.pop_back();
    if (broken == 1) prices.room[2] = -1e-12;
    if (broken == 2) prices.run[2] = {0.6, 0.6};
    if (broken == 3) prices.room[1] = 1e305;
    EXPECT_EQ(certified_any_order_seconds(step, order_, prices).error().code, ErrorCode::kBadInput) << broken;
  }
}

}  // namespace
}  // namespace sluice::plan

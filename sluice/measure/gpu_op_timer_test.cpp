#include "sluice/measure/gpu_op_timer.hpp"

#include <gtest/gtest.h>

#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/measure/op_timer.hpp"
#include "sluice/testing/on_gpu.hpp"
#include "sluice/testing/small_networks.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice::measure {
namespace {

// Through the front that chooses a timer by the kernels.
TEST(OpTimerOnGpu, TimesOps) {
  SLUICE_SKIP_WITHOUT_GPU();
  const auto kernels = testing::compiled(kernels::make_cuda_backend(),
                                         graph::prepare_training_graph(testing::small_networks().front().forward, {}));
  const auto timer = OpTimer::make(*kernels, 1);
  ASSERT_TRUE(timer.ok()) << timer.error().message;
  for (graph::OpIndex op = 0; op < kernels->graph().op_count(); ++op) {
    const Result<Seconds> seconds = (*timer)->run(op);
    ASSERT_TRUE(seconds.ok()) << seconds.error().message;
    EXPECT_GT(*seconds, 0);
    EXPECT_LT(*seconds, 60);
  }
}

}  // namespace
}  // namespace sluice::measure

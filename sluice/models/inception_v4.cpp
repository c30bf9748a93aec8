#include <fmt/format.h>

#include "sluice/models/inception_branches.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

// Figure 3 of the paper.
graph::TensorId stem(InceptionBranches& net, graph::TensorId x) {
  x = net.conv(x, valid("conv1", 32, 3, 2));
  x = net.conv(x, valid("conv2", 32, 3));
  x = net.conv(x, {"conv3", 64, 3});
  net.begin("stem1", x);
  net.max_pool_branch();
  net.branch({{"conv3x3", 96, 3, 2}});
  net.begin("stem2", net.end());
  net.branch({{"conv3x3_1", 64, 1}, valid("conv3x3_2", 96, 3)});
  net.branch({{"conv7x7_1", 64, 1}, row("conv7x7_2", 64, 7), column("conv7x7_3", 64, 7), valid("conv7x7_4", 96, 3)});
  net.begin("stem3", net.end());
  net.branch({{"conv3x3", 192, 3, 2}});
  net.max_pool_branch();
  return net.end();
}

// Figure 4.
graph::TensorId module_a(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv1x1", 96, 1}});
  net.branch({{"conv3x3_1", 64, 1}, {"conv3x3_2", 96, 3}});
  net.branch({{"conv3x3dbl_1", 64, 1}, {"conv3x3dbl_2", 96, 3}, {"conv3x3dbl_3", 96, 3}});
  net.pooled_branch({"pool", 96, 1});
  return net.end();
}

// Figure 7 with k, l, m, n = 192, 224, 256, 384.
graph::TensorId v4_reduction_a(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv3x3", 384, 3, 2}});
  net.branch({{"conv3x3dbl_1", 192, 1}, {"conv3x3dbl_2", 224, 3}, {"conv3x3dbl_3", 256, 3, 2}});
  net.max_pool_branch();
  return net.end();
}

// Figure 5.
graph::TensorId module_b(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv1x1", 384, 1}});
  net.branch({{"conv7x7_1", 192, 1}, row("conv7x7_2", 224, 7), column("conv7x7_3", 256, 7)});
  net.branch({{"conv7x7dbl_1", 192, 1},
              column("conv7x7dbl_2", 192, 7),
              row("conv7x7dbl_3", 224, 7),
              column("conv7x7dbl_4", 224, 7),
              row("conv7x7dbl_5", 256, 7)});
  net.pooled_branch({"pool", 128, 1});
  return net.end();
}

// Figure 8.
graph::TensorId v4_reduction_b(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv3x3_1", 192, 1}, {"conv3x3_2", 192, 3, 2}});
  net.branch(
      {{"conv7x7x3_1", 256, 1}, row("conv7x7x3_2", 256, 7), column("conv7x7x3_3", 320, 7), {"conv7x7x3_4", 320, 3, 2}});
  net.max_pool_branch();
  return net.end();
}

// Figure 6.
graph::TensorId v4_module_c(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv1x1", 256, 1}});
  net.forked_branch({{"conv3x3_1", 384, 1}}, row("conv3x3_2a", 256, 3), column("conv3x3_2b", 256, 3));
  net.forked_branch({{"conv3x3dbl_1", 384, 1}, column("conv3x3dbl_2", 448, 3), row("conv3x3dbl_3", 512, 3)},
                    row("conv3x3dbl_4a", 256, 3), column("conv3x3dbl_4b", 256, 3));
  net.pooled_branch({"pool", 256, 1});
  return net.end();
}

}  // namespace

Result<graph::Graph> build_inception_v4(const std::string& name, const ModelOptions& options) {
  graph::GraphBuilder builder(name);
  InceptionBranches net(builder, options.width, false);
  graph::TensorId x = stem(net, image_input(builder, options.batch, options.image_size, options.classes));
  for (int i = 0; i < 4; ++i) x = module_a(net, fmt::format("inception_a{}", i + 1), x);
  x = v4_reduction_a(net, "reduction_a", x);
  for (int i = 0; i < 7; ++i) x = module_b(net, fmt::format("inception_b{}", i + 1), x);
  x = v4_reduction_b(net, "reduction_b", x);
  for (int i = 0; i < 3; ++i) x = v4_module_c(net, fmt::format("inception_c{}", i + 1), x);
  pooled_classifier(builder, x, options.classes, options.dropout);
  return builder.finish();
}

}  // namespace sluice::models

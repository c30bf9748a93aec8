#include <fmt/format.h>

#include "sluice/models/inception_branches.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

// Figure 5 of the paper; the last branch has `pooled` channels behind an average pool.
graph::TensorId module_a(InceptionBranches& net, const std::string& block, graph::TensorId x, std::int64_t pooled) {
  net.begin(block, x);
  net.branch({{"conv1x1", 64, 1}});
  net.branch({{"conv5x5_1", 48, 1}, {"conv5x5_2", 64, 5}});
  net.branch({{"conv3x3dbl_1", 64, 1}, {"conv3x3dbl_2", 96, 3}, {"conv3x3dbl_3", 96, 3}});
  net.pooled_branch({"pool", pooled, 1});
  return net.end();
}

graph::TensorId reduction_a(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv3x3", 384, 3, 2}});
  net.branch({{"conv3x3dbl_1", 64, 1}, {"conv3x3dbl_2", 96, 3}, {"conv3x3dbl_3", 96, 3, 2}});
  net.max_pool_branch();
  return net.end();
}

// Figure 6: 7x7 convolutions as pairs of 1x7 and 7x1.
graph::TensorId module_b(InceptionBranches& net, const std::string& block, graph::TensorId x, std::int64_t inner) {
  net.begin(block, x);
  net.branch({{"conv1x1", 192, 1}});
  net.branch({{"conv7x7_1", inner, 1}, row("conv7x7_2", inner, 7), column("conv7x7_3", 192, 7)});
  net.branch({{"conv7x7dbl_1", inner, 1},
              column("conv7x7dbl_2", inner, 7),
              row("conv7x7dbl_3", inner, 7),
              column("conv7x7dbl_4", inner, 7),
              row("conv7x7dbl_5", 192, 7)});
  net.pooled_branch({"pool", 192, 1});
  return net.end();
}

graph::TensorId reduction_b(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv3x3_1", 192, 1}, {"conv3x3_2", 320, 3, 2}});
  net.branch(
      {{"conv7x7x3_1", 192, 1}, row("conv7x7x3_2", 192, 7), column("conv7x7x3_3", 192, 7), {"conv7x7x3_4", 192, 3, 2}});
  net.max_pool_branch();
  return net.end();
}

// Figure 7: the last convolutions of two branches side by side.
graph::TensorId module_c(InceptionBranches& net, const std::string& block, graph::TensorId x) {
  net.begin(block, x);
  net.branch({{"conv1x1", 320, 1}});
  net.forked_branch({{"conv3x3_1", 384, 1}}, row("conv3x3_2a", 384, 3), column("conv3x3_2b", 384, 3));
  net.forked_branch({{"conv3x3dbl_1", 448, 1}, {"conv3x3dbl_2", 384, 3}}, row("conv3x3dbl_3a", 384, 3),
                    column("conv3x3dbl_3b", 384, 3));
  net.pooled_branch({"pool", 192, 1});
  return net.end();
}

graph::TensorId stem(graph::GraphBuilder& builder, InceptionBranches& net, graph::TensorId x) {
  x = net.conv(x, valid("conv1a", 32, 3, 2));
  x = net.conv(x, valid("conv2a", 32, 3));
  x = net.conv(x, {"conv2b", 64, 3});
  builder.begin_layer("maxpool1");
  x = builder.max_pool(x, {.kernel = 3, .stride = 2});
  x = net.conv(x, {"conv3b", 80, 1});
  x = net.conv(x, valid("conv4a", 192, 3));
  builder.begin_layer("maxpool2");
  return builder.max_pool(x, {.kernel = 3, .stride = 2});
}

}  // namespace

Result<graph::Graph> build_inception_v3(const std::string& name, const ModelOptions& options) {
  graph::GraphBuilder builder(name);
  InceptionBranches net(builder, options.width, true);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  x = stem(builder, net, x);
  x = module_a(net, "mixed5b", x, 32);
  x = module_a(net, "mixed5c", x, 64);
  x = module_a(net, "mixed5d", x, 64);
  x = reduction_a(net, "mixed6a", x);
  x = module_b(net, "mixed6b", x, 128);
  x = module_b(net, "mixed6c", x, 160);
  x = module_b(net, "mixed6d", x, 160);
  x = module_b(net, "mixed6e", x, 192);
  x = reduction_b(net, "mixed7a", x);
  x = module_c(net, "mixed7b", x);
  x = module_c(net, "mixed7c", x);
  pooled_classifier(builder, x, options.classes, options.dropout);
  return builder.finish();
}

}  // namespace sluice::models
